"""Adapters to agent frameworks: one module per framework, the only one that imports it.

Each adapts the client (`recall/client`) and decides nothing. Not here: reading and writing the files of other systems
(`interop`), and the services that agents call (`service`).
"""
