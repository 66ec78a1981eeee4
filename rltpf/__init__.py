"""Fine-tune language models with a theorem prover as the judge."""

__version__ = "0.1.0"
