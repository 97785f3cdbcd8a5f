-- Helpers of said.sql and said_parts.sql. A field that is absent says nothing; one that is null says that there is none now.

CREATE OR REPLACE TEMP MACRO account(who) AS  -- login as REST writes it: others leave the [bot] behind an app's login out
    CASE WHEN struct_extract(who, '__typename') = 'Bot' AND NOT ends_with(struct_extract(who, 'login'), '[bot]')
         THEN struct_extract(who, 'login') || '[bot]'
         WHEN starts_with(struct_extract(who, 'login'), 'app/') THEN substr(struct_extract(who, 'login'), 5) || '[bot]'
         ELSE struct_extract(who, 'login') END;

CREATE OR REPLACE TEMP MACRO stated(value, has, names) AS  -- empty text: the field is there and null
    coalesce(value, CASE WHEN list_has_any(has, names) THEN '' END);

CREATE OR REPLACE TEMP MACRO word(value) AS  -- "too heated" and TOO_HEATED are too_heated
    nullif(replace(replace(lower(value), ' ', '_'), '-', '_'), '');

CREATE OR REPLACE TEMP MACRO moment(value) AS  -- a time in UTC, as every source means one without an offset
    CASE WHEN NOT regexp_matches(value, '^[1-9][0-9]{3}[^0-9]') THEN NULL  -- DuckDB has times that Python has not
         WHEN regexp_matches(value, ':[0-9.]+ ?[+-][0-9]{2}:?[0-9]{2}$')
         THEN make_timestamp(epoch_us(coalesce(try_cast(value AS TIMESTAMPTZ), try_strptime(value, '%Y/%m/%d %H:%M:%S %z'))))
         ELSE try_cast(value AS TIMESTAMP) END;

CREATE OR REPLACE TEMP MACRO names_of(value) AS  -- names of labels: objects, texts, or a connection of GraphQL
    list_sort(list_distinct(CASE json_type(value)
        WHEN 'OBJECT' THEN json_extract_string(value, '$.nodes[*].name')
        WHEN 'ARRAY' THEN [coalesce(json_extract_string(entry, '$.name'),
                                    CASE WHEN json_type(entry) = 'VARCHAR' THEN json_extract_string(entry, '$') END)
                           FOR entry IN TRY_CAST(value AS JSON[])] END));

CREATE OR REPLACE TEMP MACRO count_of(value) AS  -- how many: a number, a connection or a list
    CASE json_type(value)
        WHEN 'OBJECT' THEN try_cast(json_extract_string(value, '$.totalCount') AS INTEGER)
        WHEN 'ARRAY' THEN json_array_length(value)::INTEGER
        WHEN 'UBIGINT' THEN try_cast(json_extract_string(value, '$') AS INTEGER) END;

CREATE OR REPLACE TEMP MACRO number_at(address) AS  -- the number that ends an address
    try_cast(regexp_extract(address, '/([0-9]{1,10})(?:[#?].*)?$', 1) AS INTEGER);

CREATE OR REPLACE TEMP MACRO repo_at(address) AS  -- owner/name of an address of the API or of a page
    nullif(regexp_extract(address, '(?:/repos/|//(?:www\.)?github\.com/)([^/]+/[^/]+)', 1), '');

CREATE OR REPLACE TEMP MACRO part_of(id) AS substr(id, strpos(id, '/') + 1);  -- id of a part without its item's number
