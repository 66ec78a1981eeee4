/-
The judge: a Lean REPL with three commands of its own. One JSON object a request and one a reply, each followed by a blank line.

  {"cmd": text, "env": n?}                                            plain REPL: elaborate `text`, answer environment number and messages
  {"nonce": s, "elaborate": {header, statement}}                      does the statement elaborate?
  {"nonce": s, "check": {header, statement, submission}}              does the submission prove exactly the statement?
  {"nonce": s, "prove": {header, statement, goal, tactic, heartbeats}}  does the tactic block prove the goal made from the statement?

A verdict is taken from the environment and never from what Lean printed: elaborated text may print what it likes. Everything that a
submission added is checked a second time by the kernel, starting from an environment in which no submission has ever run.

The embedded Lean interprets this file and ships only the public part of each module. Interpreted code cannot use library functions that
are inlined (`for`, `List.map`, `++` on lists, ...), so the loops here are plain recursion.
-/
import Lean
open Lean Elab

/-! ### Elaborating text -/

def inputOf (text : String) : Parser.InputContext :=
  { inputString := text, fileName := "<input>", fileMap := FileMap.ofString text, endPos := text.rawEndPos, endPos_valid := by simp }

/-- What elaborating a text left: the state and the commands. -/
structure Outcome where
  state : Command.State
  commands : Array Syntax

def elabCommands (input : Parser.InputContext) (parser : Parser.ModuleParserState) (state : Command.State) : IO Outcome := do
  let final ← IO.processCommands input parser state
  return { state := final.commandState, commands := final.commands }

/-- Elaborates `text` on top of `state`, whose messages are dropped. -/
def elabText (state : Command.State) (text : String) : IO Outcome := do
  let input := inputOf text.crlfToLf
  -- The parser expects the first command at its place, and skips comments and blank lines only after a token.
  let start := Parser.ParserFn.run Parser.whitespace input { env := state.env, options := {} } {} (Parser.mkParserState input.inputString)
  elabCommands input { pos := start.pos } { state with messages := {} }

/-- Elaborates a text that may begin with imports. `processHeader` is not used: the embedded Lean would make the text a module, whose
theorems are private. -/
def elabFile (text : String) : IO Outcome := do
  let input := inputOf text.crlfToLf
  let (header, parser, messages) ← Parser.parseHeader input
  let env ← importModules (HeaderSyntax.imports header) {} 0 (loadExts := true)
  elabCommands input parser (Command.mkState env messages {})

/-! ### Messages -/

def severityOf : MessageSeverity → String
  | .information => "info"
  | .warning => "warning"
  | .error => "error"

partial def hasError (messages : Array Message) (i : Nat) : Bool :=
  match messages[i]? with
  | none => false
  | some m => match m.severity with
    | .error => true
    | _ => hasError messages (i + 1)

def erred (state : Command.State) : Bool := hasError state.messages.toArray 0

/-- Messages as JSON, their lines counted from the text that follows `skip` lines of ours. -/
partial def messagesJson (messages : Array Message) (skip i : Nat) (acc : Array Json) : IO (Array Json) := do
  match messages[i]? with
  | none => return acc
  | some m =>
    let text ← m.data.toString
    let inside := m.pos.line > skip
    let json := Json.mkObj [("severity", severityOf m.severity), ("line", toJson (if inside then m.pos.line - skip else 1)),
      ("column", toJson (if inside then m.pos.column else 0)), ("text", text)]
    messagesJson messages skip (i + 1) (acc.push json)

/-! ### New constants -/

partial def nameText : Name → String
  | .anonymous => ""
  | .str .anonymous s => s
  | .str p s => nameText p ++ "." ++ s
  | .num p n => nameText p ++ "." ++ toString n

mutual
partial def nodeNames (node : PersistentHashMap.Node Name ConstantInfo) (acc : Array Name) : Array Name :=
  match node with
  | .entries es => entryNames es 0 acc
  | .collision ks _ _ => collisionNames ks 0 acc
partial def entryNames (es : Array (PersistentHashMap.Entry Name ConstantInfo (PersistentHashMap.Node Name ConstantInfo))) (i : Nat)
    (acc : Array Name) : Array Name :=
  match es[i]? with
  | none => acc
  | some (.entry k _) => entryNames es (i + 1) (acc.push k)
  | some (.ref node) => entryNames es (i + 1) (nodeNames node acc)
  | some .null => entryNames es (i + 1) acc
partial def collisionNames (ks : Array Name) (i : Nat) (acc : Array Name) : Array Name :=
  match ks[i]? with
  | none => acc
  | some k => collisionNames ks (i + 1) (acc.push k)
end

def constant? (env : Environment) (name : Name) : Option ConstantInfo := env.toKernelEnv.find? name

partial def notIn (base : Environment) (names : Array Name) (i : Nat) (acc : Array Name) : Array Name :=
  match names[i]? with
  | none => acc
  | some n => notIn base names (i + 1) (match constant? base n with | none => acc.push n | some _ => acc)

/-- The constants of `env` that `base`, from which it grew, does not have. -/
def newNames (base env : Environment) : Array Name := notIn base (nodeNames env.toKernelEnv.constants.map₂.root #[]) 0 #[]

def valueOf? : ConstantInfo → Option Expr
  | .defnInfo v => some v.value
  | .thmInfo v => some v.value
  | .opaqueInfo v => some v.value
  | _ => none

/-- The value that gives a constant its meaning: theorems are left out, any two proofs are equal. -/
def meaningOf? : ConstantInfo → Option Expr
  | .thmInfo _ => none
  | c => valueOf? c

def kindOf : ConstantInfo → String
  | .axiomInfo _ => "axiom"
  | .defnInfo v => match v.safety with | .safe => "def" | .unsafe => "unsafe def" | .partial => "partial def"
  | .thmInfo _ => "theorem"
  | .opaqueInfo v => if v.isUnsafe then "unsafe opaque" else "opaque"
  | .quotInfo _ => "quotient"
  | .inductInfo v => if v.isUnsafe then "unsafe inductive" else "inductive"
  | .ctorInfo v => if v.isUnsafe then "unsafe constructor" else "constructor"
  | .recInfo v => if v.isUnsafe then "unsafe recursor" else "recursor"

partial def containsName (names : Array Name) (name : Name) (i : Nat) : Bool :=
  match names[i]? with
  | none => false
  | some n => if n == name then true else containsName names name (i + 1)

/-! ### Axioms -/

def allowedAxioms : Array Name := #[``propext, ``Classical.choice, ``Quot.sound]

/-- Axioms that libraries may bring. -/
def libraryAxioms : Array Name := #[``propext, ``Classical.choice, ``Quot.sound, ``sorryAx, ``Lean.ofReduceBool, ``Lean.ofReduceNat, ``Lean.trustCompiler]

/-- Is a constant of the imports an axiom? The embedded Lean ships theorems without proofs, so that each looks like one: there, go by name. -/
def importsAxiom (env : Environment) (name : Name) : Bool :=
  match constant? env ``Nat.add_comm with
  | some (.thmInfo _) => true
  | _ => containsName libraryAxioms name 0

structure Walk where
  seen : NameSet := {}
  reached : Array Name := #[]
  axioms : Array Name := #[]

mutual
/-- Walks the constants that `env` has over `base` from `names`, noting every axiom met, those of the imports included. -/
partial def walkAll (base env : Environment) (names : Array Name) (i : Nat) (w : Walk) : Walk :=
  match names[i]? with
  | none => w
  | some n => walkAll base env names (i + 1) (walkOne base env n w)
partial def walkOne (base env : Environment) (name : Name) (w : Walk) : Walk :=
  if w.seen.contains name then w else
  let w := { w with seen := w.seen.insert name }
  match constant? env name with
  | none => w
  | some c =>
    let imported := (constant? base name).isSome
    let w := match c with
      | .axiomInfo _ => if imported && !importsAxiom base name then w else { w with axioms := w.axioms.push name }
      | _ => w
    if imported then w else
      let w := { w with reached := w.reached.push name }
      let w := walkAll base env c.type.getUsedConstants 0 w
      let w := match c with
        | .inductInfo v => walkList base env v.ctors w
        | .ctorInfo v => walkOne base env v.induct w
        | .recInfo v => walkList base env v.all w
        | _ => w
      match valueOf? c with
      | some v => walkAll base env v.getUsedConstants 0 w
      | none => w
partial def walkList (base env : Environment) (names : List Name) (w : Walk) : Walk :=
  match names with
  | [] => w
  | n :: rest => walkList base env rest (walkOne base env n w)
end

partial def forbidden? (axioms : Array Name) (i : Nat) : Option Name :=
  match axioms[i]? with
  | none => none
  | some n => if containsName allowedAxioms n 0 then forbidden? axioms (i + 1) else some n

/-! ### Replay: everything new goes through the kernel again, from the pristine environment -/

structure Replay where
  env : Environment
  heartbeats : Nat
  done : NameSet := {}
  error : Option String := none

mutual
partial def replayAll (source : Environment) (names : Array Name) (i : Nat) (r : Replay) : IO Replay := do
  match r.error, names[i]? with
  | some _, _ => return r
  | none, none => return r
  | none, some n => replayAll source names (i + 1) (← replayOne source n r)
partial def replayCtors (source : Environment) (names : List Name) (r : Replay) : IO Replay := do
  match names with
  | [] => return r
  | n :: rest => match constant? source n with
    | some c => replayCtors source rest (← replayAll source c.type.getUsedConstants 0 r)
    | none => return { r with error := some s!"{nameText n}: no such constructor" }
partial def constructors (source : Environment) (names : List Name) : List Constructor :=
  match names with
  | [] => []
  | n :: rest => match constant? source n with
    | some c => { name := n, type := c.type } :: constructors source rest
    | none => constructors source rest
partial def inductives (source : Environment) (names : List Name) : List InductiveType :=
  match names with
  | [] => []
  | n :: rest => match constant? source n with
    | some (.inductInfo v) => { name := n, type := v.type, ctors := constructors source v.ctors } :: inductives source rest
    | _ => inductives source rest
partial def replayInductives (source : Environment) (names : List Name) (r : Replay) : IO Replay := do
  match names with
  | [] => return r
  | n :: rest => match constant? source n with
    | some (.inductInfo v) =>
      let r := { r with done := r.done.insert n }
      let r ← replayAll source v.type.getUsedConstants 0 r
      replayInductives source rest (← replayCtors source v.ctors r)
    | _ => return { r with error := some s!"{nameText n}: no such inductive type" }
partial def replayAdd (name : Name) (declaration : Declaration) (r : Replay) : IO Replay := do
  if r.error.isSome then return r
  match r.env.addDeclCore (USize.ofNat r.heartbeats) declaration none true with
  | .ok env => return { r with env := env }
  | .error e => return { r with error := some s!"{nameText name}: {← (e.toMessageData {}).toString}" }
partial def replaySame (name : Name) (type : Expr) (r : Replay) : IO Replay := do
  if r.error.isSome then return r
  match constant? r.env name with
  | some c => if c.type == type then return r else return { r with error := some s!"{nameText name}: differs from what the kernel derives" }
  | none => return { r with error := some s!"{nameText name}: the kernel derives no such constant" }
partial def replayOne (source : Environment) (name : Name) (r : Replay) : IO Replay := do
  if r.done.contains name then return r
  match constant? r.env name, constant? source name with
  | some _, _ => return r
  | none, none => return { r with error := some s!"{nameText name}: unknown constant" }
  | none, some c =>
    -- Unsafe and partial code proves nothing; a proof that leans on it fails here as an unknown constant of the kernel.
    if c.isUnsafe || c.isPartial then return r
    let r := { r with done := r.done.insert name }
    let r ← replayAll source c.type.getUsedConstants 0 r
    let r ← match valueOf? c with
      | some v => replayAll source v.getUsedConstants 0 r
      | none => pure r
    match c with
    | .defnInfo v => replayAdd name (.defnDecl v) r
    | .thmInfo v => replayAdd name (.thmDecl v) r
    | .axiomInfo v => replayAdd name (.axiomDecl v) r
    | .opaqueInfo v => replayAdd name (.opaqueDecl v) r
    | .inductInfo v =>
      let r ← replayInductives source v.all r
      replayAdd name (.inductDecl v.levelParams v.numParams (inductives source v.all) false) r
    | .ctorInfo v => replaySame name v.type (← replayOne source v.induct r)
    | .recInfo v => match v.all with
      | ind :: _ => replaySame name v.type (← replayOne source ind r)
      | [] => return { r with error := some s!"{nameText name}: a recursor of nothing" }
    | .quotInfo _ => return { r with error := some s!"{nameText name}: quotients cannot be declared again" }
end

/-! ### Statements -/

/-- A statement elaborated with `sorry` as its proof, in an environment that no submission touched. -/
structure Statement where
  header : String
  text : String
  base : Command.State
  before : Command.State
  after : Command.State
  name : Name
  info : TheoremVal
  own : Array Name

/-- A refusal: a code to count by, words, and Lean's messages. -/
structure Refusal where
  reason : String
  detail : String := ""
  messages : Array Json := #[]

structure Cache where
  headers : Array (String × Command.State) := #[]
  statement : Option Statement := none
  states : Array Command.State := #[]

partial def cached? (headers : Array (String × Command.State)) (header : String) (i : Nat) : Option Command.State :=
  match headers[i]? with
  | none => none
  | some (text, state) => if text == header then some state else cached? headers header (i + 1)

/-- The pristine state of a header. Unknown names must never turn into variables: `ℝ` without Mathlib would be any type at all. -/
def headerState (cache : IO.Ref Cache) (header : String) : IO (Except Refusal Command.State) := do
  match cached? (← cache.get).headers header 0 with
  | some state => return .ok state
  | none =>
    let refuse (detail : String) (messages : Array Json) : Except Refusal Command.State := .error { reason := "header_error", detail, messages }
    let o? ← (elabFile (header ++ "\nset_option autoImplicit false\nset_option relaxedAutoImplicit false\n")).toBaseIO
    match o? with
    | .error e => return refuse e.toString #[]
    | .ok o =>
      if erred o.state then return refuse "the header does not elaborate" (← messagesJson o.state.messages.toArray 0 0 #[])
      let state := { o.state with messages := {} }
      cache.modify fun c => { c with headers := c.headers.push (header, state) }
      return .ok state

def currentNamespace (state : Command.State) : Name :=
  match state.scopes with
  | scope :: _ => scope.currNamespace
  | [] => .anonymous

partial def lastCommand? (commands : Array Syntax) (i : Nat) : Option (Syntax × Nat) :=
  if i == 0 then none else
  match commands[i - 1]? with
  | none => none
  | some stx => if Parser.isTerminalCommand stx then lastCommand? commands (i - 1) else some (stx, i - 1)

/-- The last command, and the state before it. -/
def splitLast (base : Command.State) (text : String) (o : Outcome) : IO (Option (Syntax × Command.State)) := do
  match lastCommand? o.commands o.commands.size with
  | none => return none
  | some (stx, i) =>
    if i == 0 then return some (stx, base)
    match stx.getPos? with
    | none => return none
    | some pos =>
      let prior ← elabText base ({ str := text, startPos := 0, stopPos := pos : Substring.Raw }.toString)
      return some (stx, prior.state)

def declaredName (before : Command.State) (stx : Syntax) : Name :=
  match stx.find? (fun s => s.getKind == ``Parser.Command.declId) with
  | some declId => currentNamespace before ++ declId[0].getId
  | none => .anonymous

partial def anyAxiom (env : Environment) (names : Array Name) (i : Nat) : Option Name :=
  match names[i]? with
  | none => none
  | some n => match constant? env n with
    | some (.axiomInfo _) => some n
    | _ => anyAxiom env names (i + 1)

partial def without (names : Array Name) (name : Name) (i : Nat) (acc : Array Name) : Array Name :=
  match names[i]? with
  | none => acc
  | some n => without names name (i + 1) (if n == name then acc else acc.push n)

def elabStatement (cache : IO.Ref Cache) (header text : String) : IO (Except Refusal Statement) := do
  match (← cache.get).statement with
  | some s => if s.header == header && s.text == text then return .ok s
  | none => pure ()
  match ← headerState cache header with
  | .error e => return .error e
  | .ok base =>
    let source := text.crlfToLf ++ "\n  := by sorry\n"
    let o ← elabText base source
    let messages ← messagesJson o.state.messages.toArray 0 0 #[]
    let refuse (detail : String) : Except Refusal Statement := .error { reason := "statement_error", detail, messages }
    if erred o.state then return refuse "the statement does not elaborate"
    match ← splitLast base source o with
    | none => return refuse "the statement is empty"
    | some (last, before) =>
      let name := declaredName before last
      match constant? before.env name, constant? o.state.env name with
      | none, some (.thmInfo info) =>
        let own := without (newNames base.env o.state.env) name 0 #[]
        match anyAxiom o.state.env own 0 with
        | some ax => return refuse s!"the statement declares the axiom `{nameText ax}`"
        | none => pure ()
        let walk := walkAll base.env o.state.env own 0 (walkAll base.env o.state.env info.type.getUsedConstants 0 {})
        match forbidden? walk.axioms 0 with
        | some ax => return refuse s!"the statement rests on `{nameText ax}`"
        | none => pure ()
        let s : Statement := { header, text, base, before, after := o.state, name, info, own }
        cache.modify fun c => { c with statement := some s }
        return .ok s
      | _, _ => return refuse "the last command does not state a new theorem"

/-! ### Judging -/

def sameConstant (a b : ConstantInfo) : Bool :=
  a.type == b.type && kindOf a == kindOf b && (match meaningOf? a, meaningOf? b with
    | some x, some y => x == y
    | none, none => true
    | _, _ => false)

/-- The first constant of the statement that the submission changed. Internal ones count only where the statement's type reaches them. -/
partial def changed? (s : Statement) (env : Environment) (reached : NameSet) (i : Nat) : Option Name :=
  match s.own[i]? with
  | none => none
  | some n =>
    let matters := reached.contains n || !(n.isInternalDetail || s.name.isPrefixOf n)
    let same := match constant? s.after.env n, constant? env n with
      | some a, some b => sameConstant a b
      | _, _ => false
    if matters && !same then some n else changed? s env reached (i + 1)

structure Verdict where
  refusal : Option Refusal := none
  axioms : Array Name := #[]

/-- Judges the constant `name` of `env`: a theorem of exactly the type `type`, from allowed axioms, that the kernel accepts again. -/
def judge (base env : Environment) (name : Name) (type : Expr) (replayed : Array Name) (heartbeats : Nat) : IO Verdict := do
  match constant? env name with
  | none => return { refusal := some { reason := "missing_theorem", detail := s!"there is no theorem `{nameText name}`" } }
  | some (.thmInfo info) =>
    let walk := walkOne base env name {}
    let refuse (reason detail : String) : Verdict := { refusal := some { reason, detail }, axioms := walk.axioms }
    unless info.type == type do return refuse "type_mismatch" s!"`{nameText name}` does not have the type of the statement"
    match forbidden? walk.axioms 0 with
    | some ax => return refuse "axioms" s!"`{nameText name}` rests on `{nameText ax}`"
    | none => pure ()
    let r ← replayAll env (replayed.push name) 0 { env := base, heartbeats }
    match r.error with
    | some e => return refuse "replay" e
    | none => pure ()
    match constant? r.env name with
    | some (.thmInfo again) =>
      if again.type == type then return { axioms := walk.axioms } else return refuse "replay" s!"`{nameText name}` changed its type"
    | _ => return refuse "replay" s!"`{nameText name}` is no theorem after the replay"
  | some c => return { refusal := some { reason := "not_a_theorem", detail := s!"`{nameText name}` is {kindOf c}, not a theorem" } }

/-- The kernel's own allowance in a replay of a submission, in units of Lean's heartbeats. -/
def replayHeartbeats : Nat := 200000 * 1000

def check (s : Statement) (submission : String) : IO (Verdict × Array Json) := do
  let o ← elabText s.base submission
  let messages ← messagesJson o.state.messages.toArray 0 0 #[]
  let env := o.state.env
  let reached := (walkAll s.base.env s.before.env s.info.type.getUsedConstants 0 {}).seen
  let v ← judge s.base.env env s.name s.info.type (newNames s.base.env env) replayHeartbeats
  -- The cause of a failed elaboration is its error; what is missing afterwards is only the consequence.
  if erred o.state then
    return ({ v with refusal := some { reason := "elaboration_error", detail := "the submission does not elaborate" } }, messages)
  if v.refusal.isNone then
    match changed? s env reached 0 with
    | some n => return ({ v with refusal := some { reason := "statement_changed", detail := s!"`{nameText n}` is not what the statement defines" } }, messages)
    | none => pure ()
  return (v, messages)

/-- `type` with its conclusion `c`, after all leading quantifiers and hypotheses, replaced by `f c`. -/
partial def mapConclusion (f : Expr → Expr) (type : Expr) : Expr :=
  match type with
  | .forallE n d b info => .forallE n d (mapConclusion f b) info
  | .letE n t v b nondep => .letE n t v (mapConclusion f b) nondep
  | .mdata _ e => mapConclusion f e
  | c => f c

def goalType? (goal : String) (type : Expr) : Option Expr :=
  if goal == "claim" then some type
  else if goal == "denial" then some (mapConclusion mkNot type)
  else if goal == "absurdity" then some (mapConclusion (fun _ => mkConst ``False) type)
  else none

partial def levelText (levels : List Name) : String :=
  match levels with
  | [] => ""
  | [l] => nameText l
  | l :: rest => nameText l ++ ", " ++ levelText rest

def goalAxiom : Name := `judge_goal
def goalTheorem : Name := `judge_proof

/-- Elaborates the tactic block against `type` and judges what came out. The scratch axiom only names the type; a proof from it fails by its axioms. -/
def prove (s : Statement) (type : Expr) (tactic : String) (heartbeats : Nat) : IO (Verdict × Array Json) := do
  let levels := s.info.levelParams
  let declaration : Declaration := .axiomDecl { name := goalAxiom, levelParams := levels, type, isUnsafe := false }
  let scratch ← match s.before.env.addDeclCore 0 declaration none true with
    | .ok env => pure { s.before with env := env }
    | .error e => throw (IO.userError (← (e.toMessageData {}).toString))
  let universes := match levels with | [] => "" | _ => ".{" ++ levelText levels ++ "}"
  let opening := s!"set_option maxHeartbeats {heartbeats} in theorem _root_.judge_proof{universes} : type_of% @_root_.judge_goal{universes} := by\nunhygienic intros\n"
  let o ← elabText scratch (opening ++ tactic ++ "\n")
  let messages ← messagesJson o.state.messages.toArray 2 0 #[]
  if erred o.state then return ({ refusal := some { reason := "unproved", detail := "the tactic failed" } }, messages)
  return (← judge s.base.env o.state.env goalTheorem type #[] (heartbeats * 1000), messages)

/-! ### Requests -/

def field (j : Json) (key : String) : String :=
  match j.getObjValAs? String key with
  | .ok s => s
  | .error _ => ""

partial def namesJson (names : Array Name) (i : Nat) (acc : Array Json) : Array Json :=
  match names[i]? with
  | none => acc
  | some n => namesJson names (i + 1) (acc.push (Json.str (nameText n)))

def reply (refusal : Option Refusal) (axioms : Array Name) (messages : Array Json) : Json :=
  match refusal with
  | some r => Json.mkObj [("ok", Json.bool false), ("reason", r.reason), ("detail", r.detail),
      ("messages", Json.arr (if r.messages.size == 0 then messages else r.messages)), ("axioms", Json.arr (namesJson axioms 0 #[]))]
  | none => Json.mkObj [("ok", Json.bool true), ("reason", "ok"), ("detail", ""), ("messages", Json.arr messages),
      ("axioms", Json.arr (namesJson axioms 0 #[]))]

def withStatement (cache : IO.Ref Cache) (args : Json) (act : Statement → IO (Verdict × Array Json)) : IO Json := do
  match ← elabStatement cache (field args "header") (field args "statement") with
  | .error e => return reply (some e) #[] #[]
  | .ok s =>
    let (v, messages) ← act s
    return reply v.refusal v.axioms messages

def ownCommand (cache : IO.Ref Cache) (request : Json) : IO Json := do
  match request.getObjVal? "elaborate", request.getObjVal? "check", request.getObjVal? "prove" with
  | .ok args, _, _ => withStatement cache args fun _ => return ({}, #[])
  | _, .ok args, _ => withStatement cache args fun s => check s (field args "submission")
  | _, _, .ok args => withStatement cache args fun s => do
    match goalType? (field args "goal") s.info.type, args.getObjValAs? Nat "heartbeats" with
    | some type, .ok heartbeats => prove s type (field args "tactic") heartbeats
    | _, _ => throw (IO.userError "`prove` needs a goal and heartbeats")
  | _, _, _ => throw (IO.userError "unknown command")

partial def replMessages (messages : Array Message) (i : Nat) (acc : Array Json) : IO (Array Json) := do
  match messages[i]? with
  | none => return acc
  | some m =>
    let pos (p : Position) : Json := Json.mkObj [("line", toJson p.line), ("column", toJson p.column)]
    let json := Json.mkObj [("severity", severityOf m.severity), ("pos", pos m.pos),
      ("endPos", match m.endPos with | some p => pos p | none => Json.null), ("data", ← m.data.toString)]
    replMessages messages (i + 1) (acc.push json)

/-- The plain REPL command, as the native REPL answers it. -/
def replCommand (cache : IO.Ref Cache) (request : Json) (text : String) : IO Json := do
  let o? ← match request.getObjValAs? Nat "env" with
    | .ok n => match (← cache.get).states[n]? with
      | some state => some <$> elabText state text
      | none => pure none
    | .error _ => some <$> elabFile text
  match o? with
  | none => return Json.mkObj [("message", "Unknown environment.")]
  | some o =>
    let number := (← cache.get).states.size
    let messages ← replMessages o.state.messages.toArray 0 #[]
    cache.modify fun c => { c with states := c.states.push { o.state with messages := {} } }
    return Json.mkObj [("env", toJson number), ("messages", Json.arr messages)]

def answer (cache : IO.Ref Cache) (block : String) : IO Json := do
  match Json.parse block with
  | .error e => return Json.mkObj [("message", e)]
  | .ok request =>
    match request.getObjValAs? String "cmd" with
    | .ok text => try replCommand cache request text catch e => return Json.mkObj [("message", e.toString)]
    | .error _ =>
      let result ← try ownCommand cache request catch e => pure (Json.mkObj [("message", e.toString)])
      return result.setObjVal! "nonce" (Json.str (field request "nonce"))

partial def readBlock (input : IO.FS.Stream) (block : String) : IO (Option String) := do
  let line ← input.getLine
  if line.isEmpty then return none
  if line.trimAscii.isEmpty then
    if block.isEmpty then readBlock input block else return some block
  else readBlock input (block ++ line)

partial def serve (cache : IO.Ref Cache) (input output : IO.FS.Stream) : IO Unit := do
  match ← readBlock input "" with
  | none => return
  | some block =>
    let json ← answer cache block
    output.putStr (json.compress ++ "\n\n")
    output.flush
    serve cache input output

public unsafe def main : IO Unit := do
  initSearchPath (← findSysroot)
  enableInitializersExecution
  serve (← IO.mkRef {}) (← IO.getStdin) (← IO.getStdout)
