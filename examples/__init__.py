"""Programs on real data, written as users write them. Each runs alone: python examples/NAME.py"""
