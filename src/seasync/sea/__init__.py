"""The record of a sea and its index (Lance), ingest, the care of both; `seasync.sea.sea.Sea` is its face."""
