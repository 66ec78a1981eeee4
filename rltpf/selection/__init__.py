"""BASE: choose among ranked answers with one formalisation (specification: base_rpe, parts A and D)."""
