/-
Starts the compiled judge under the embedded Lean: elaborating Judge.lean anew would take most of a process's start.
-/
import Lean.Environment
import Lean.Compiler.InitAttr
open Lean

public unsafe def main : IO Unit := do
  initSearchPath (← findSysroot)
  enableInitializersExecution
  let env ← importModules #[{ module := `Judge }] {} 0 (loadExts := true)
  -- Of the ways to run a constant of another environment, this one is no generic function, which interpreted code cannot call here.
  runInit env {} `Judge.started `main
