-- What do the queries in README.md and DATASHEET.md call and read, besides the published tables?
CREATE TABLE published (place INTEGER, name VARCHAR, rows BIGINT, description VARCHAR);
CREATE TABLE withheld (place INTEGER, source VARCHAR, name VARCHAR, reason VARCHAR);
CREATE TABLE left_out (place INTEGER, reason VARCHAR, rows BIGINT);
CREATE TABLE annotators (place INTEGER, name VARCHAR, meaning VARCHAR);
CREATE TABLE sources (place INTEGER, name VARCHAR, meaning VARCHAR);
CREATE TABLE agreements (place INTEGER, scheme VARCHAR, one VARCHAR, other VARCHAR, items BIGINT, kappa VARCHAR);

CREATE MACRO missing(value) AS format('{:.0f}%', 100 * count(*) FILTER (value IS NULL) / greatest(count(*), 1));
CREATE MACRO environments_of(number) AS format('{:,} environment{}', number, CASE number WHEN 1 THEN '' ELSE 's' END);
