"""What lies at a URI: object storage, spoken to as Lance does, and files fetched from it once."""
