"""Pages for people beside the HTTP service: search, why a memory stands, core memory, plans, runs, health.

They are made on the server, load nothing from elsewhere, and work without JavaScript. Whatever they show or do is a
call of a profile's client, or an action that the HTTP service has too, with the rights of the same tokens.
"""
