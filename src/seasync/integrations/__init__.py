"""Seasync inside other programs: assistants that speak MCP, and FiftyOne."""
