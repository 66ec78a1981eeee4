/-
Compiles Judge.lean to Judge.olean for the embedded Lean, whose own `-o` would make a module of it, without the code that runs.
-/
import Lean.Elab.Frontend
open Lean Elab

/-- The module with its compiled functions among its constants: this build finds the code of an import by the names of its constants
alone, and forgets those that the compiler made up. The constants stand in for names in the judge's own environment, never for a claim. -/
partial def withNames (names : Array Name) (i : Nat) (data : ModuleData) : ModuleData :=
  match names[i]? with
  | none => data
  | some name =>
    let constant := ConstantInfo.axiomInfo { name, levelParams := [], type := .sort .zero, isUnsafe := false }
    withNames names (i + 1) { data with constNames := data.constNames.push name, constants := data.constants.push constant }

partial def report (messages : Array Message) (i : Nat) : IO Unit := do
  match messages[i]? with
  | none => return
  | some m => IO.eprintln (← m.data.toString); report messages (i + 1)

public unsafe def main : IO Unit := do
  initSearchPath (← findSysroot)
  enableInitializersExecution
  let text ← IO.FS.readFile "/judge/Judge.lean"
  let input : Parser.InputContext :=
    { inputString := text, fileName := "Judge.lean", fileMap := FileMap.ofString text, endPos := text.rawEndPos, endPos_valid := by simp }
  let (header, parser, messages) ← Parser.parseHeader input
  let env ← importModules (HeaderSyntax.imports header) {} 0 (loadExts := true)
  let final := (← IO.processCommands input parser (Command.mkState (env.setMainModule `Judge) messages {})).commandState
  if final.messages.hasErrors then
    report final.messages.toArray 0
  else
    let data ← mkModuleData final.env .private
    saveModuleData "/judge/Judge.olean" `Judge (withNames data.extraConstNames 0 { data with extraConstNames := #[] })
