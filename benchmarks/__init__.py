"""The workloads that `gradc bench` times, and its adapters to other systems.

A group of workloads is one file with a tuple WORKLOADS; `catalog` lists the files. Another system
is one file in `systems` with a class of System.
"""
