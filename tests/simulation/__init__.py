"""Tests of simulated errors and of plans that are solved for a budget."""
