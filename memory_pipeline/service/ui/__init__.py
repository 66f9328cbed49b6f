"""Pages for people beside the HTTP service: search, memories, core memory, plans, runs, health.

They are rendered on the server, load nothing from elsewhere, and work without JavaScript. Whatever they show or do is a
call of a profile's client, or an action that the HTTP service has too, with the rights of the same tokens.
"""
