-- Tables of the database with their columns, in the words of the schema.
SELECT t.table_name AS name, t.comment AS about, c.column_name AS "`column`", c.data_type AS type, c.comment AS meaning
FROM duckdb_tables() t JOIN duckdb_columns() c USING (database_name, table_name)
WHERE t.database_name = 'catalog_alone' ORDER BY t.table_oid, c.column_index
