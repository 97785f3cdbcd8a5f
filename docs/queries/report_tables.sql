-- Tables of the report's data files with their columns.
WITH one AS (SELECT unnest("table") AS t FROM 'report_tables.json'),
each AS (SELECT t.name, t.description, unnest(t."column") AS c FROM one)
SELECT name, description, c.name AS "`column`", c.kind, c.meaning FROM each
