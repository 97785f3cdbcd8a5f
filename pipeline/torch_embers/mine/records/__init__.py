"""GitHub's JSON, as REST and GraphQL send it, to records of the store. Pure: no network, no database."""
