"""The live state: published tables plus the tail of the ledger, as one immutable search pool per profile."""
