"""The record of a sea and its index (Lance), ingest, the care of both; `seasync.search.Sea` is its face."""
