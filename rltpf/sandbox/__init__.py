"""Confinement of commands (`command`) and of functions that a model wrote (`functions`).

The launcher of every confined process imports this package: it takes nothing but the standard library, and little.
"""
