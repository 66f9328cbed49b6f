"""The Japanese language pack."""
