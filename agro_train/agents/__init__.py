"""Agents, which answer questions: a trained run, a model of the Hub or a folder, vLLM's engine, or a server."""
