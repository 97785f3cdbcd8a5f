"""The room that owns the database: schema, records, locking, transactions, exports."""
