-- Views of the database with their columns.
SELECT v.view_name AS name, v.comment AS about, c.column_name AS "`column`", c.data_type AS type
FROM duckdb_views() v JOIN duckdb_columns() c ON c.database_name = v.database_name AND c.table_name = v.view_name
WHERE v.database_name = 'catalog_alone' AND NOT v.internal ORDER BY v.view_name, c.column_index
