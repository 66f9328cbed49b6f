"""Memory behind the interfaces of agent frameworks: one module a framework, which alone imports it.

Each adapts the client (`recall/client`) and decides nothing. Not here: reading and writing the files of other systems
(`interop`), and the services that agents call (`service`).
"""
