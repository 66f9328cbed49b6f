"""The live state: what the last commit published, and what agents have written since."""
