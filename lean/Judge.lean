/-
The judge: a Lean REPL with commands of its own. One JSON object a request and one a reply, each followed by a blank line.

  {"cmd": text, "env": n?}                                            plain REPL: elaborate `text`, answer environment number and messages
  {"nonce": s, "elaborate": {header, statement}}                      does the statement elaborate?
  {"nonce": s, "check": {header, statement, submission}}              does the submission prove exactly the statement?
  {"nonce": s, "prove": {header, statement, goal, tactic, heartbeats}}  does the tactic block prove the goal made from the statement?
  {"nonce": s, "inspect": {header, statement}}                        the statement's binders, and the traps to probe for (see Traps)
  {"nonce": s, "export": {header, statement, submission?}}            what the submission, or the statement alone, adds, as text
  {"nonce": s, "replay": {header, statement, submission}}             `check`, of two such texts: no model's Lean text is elaborated
  {"nonce": s, "batch": [request, ...], "milliseconds": n}            `replies` to the first of them, in order; after n none is begun

A verdict is taken from the environment and never from what Lean printed: elaborated text may print what it likes. Everything that a
submission added is checked a second time by the kernel, starting from an environment in which no submission has ever run.

The embedded Lean interprets this file and ships only the public part of each module. Interpreted code cannot use library functions that
are inlined (`for`, `List.map`, `++` on lists, ...), so the loops here are plain recursion.
-/
import Lean
open Lean Elab

/-! ### What of a model's text is elaborated

What the text gate cannot tell by words, because only the parser knows what is a command, a tactic or its option. A tactic evaluates what
its options are set to before any limit of heartbeats counts, and some are programs that it runs, as in
`solve_by_elim (config := {suspend := fun _ => …})`: an option has to be a literal. Commands are those listed, since another may run code. -/

partial def nameText : Name → String
  | .anonymous => ""
  | .str .anonymous s => s
  | .str p s => nameText p ++ "." ++ s
  | .num p n => nameText p ++ "." ++ toString n

partial def containsName (names : Array Name) (name : Name) (i : Nat) : Bool :=
  match names[i]? with
  | none => false
  | some n => if n == name then true else containsName names name (i + 1)

def allowedCommands : Array Name := #[``Parser.Command.namespace, ``Parser.Command.section, ``Parser.Command.end, ``Parser.Command.open,
  ``Parser.Command.export, ``Parser.Command.variable, ``Parser.Command.universe, ``Parser.Command.include, ``Parser.Command.omit,
  ``Parser.Command.set_option, ``Parser.Command.attribute, ``Parser.Command.notation, ``Parser.Command.mixfix, ``Parser.Command.deriving,
  ``Parser.Command.moduleDoc, ``Parser.Command.addDocString, ``Parser.Command.check, ``Parser.Command.print, ``Parser.Command.printAxioms,
  ``Parser.Command.grindPattern, `Lean.Parser.commandUnseal__, `Lean.Parser.commandSeal__, `lemma, `Mathlib.Notation3.notation3,
  `Batteries.Tactic.Alias.alias, `Batteries.Tactic.Alias.aliasLR, `Lean.Parser.Command.initialize_simps_projections,
  `commandSuppress_compilation, `Mathlib.Tactic.command_Irreducible_def____, `Mathlib.Tactic.LibraryNote.commandLibrary_note]

def allowedDeclarations : Array Name := #[``Parser.Command.definition, ``Parser.Command.abbrev, ``Parser.Command.theorem,
  ``Parser.Command.example, ``Parser.Command.instance, ``Parser.Command.inductive, ``Parser.Command.classInductive,
  ``Parser.Command.coinductive, ``Parser.Command.structure, ``Parser.Command.axiom, ``Parser.Command.opaque]

mutual
partial def commandRefused? (stx : Syntax) : Option String :=
  match stx with
  | .node _ kind args =>
    if kind == nullKind || kind == ``Parser.Command.in || kind == ``Parser.Command.mutual then commandsRefused? args 0
    else if kind == ``Parser.Command.declaration then
      if containsName allowedDeclarations stx[1].getKind 0 then none else some s!"the declaration {nameText stx[1].getKind} has no place here"
    else if containsName allowedCommands kind 0 then none else some s!"the command {nameText kind} has no place here"
  | _ => none
partial def commandsRefused? (args : Array Syntax) (i : Nat) : Option String :=
  match args[i]? with
  | none => none
  | some stx => match commandRefused? stx with
    | none => commandsRefused? args (i + 1)
    | refusal => refusal
end

def isAtom (stx? : Option Syntax) (text : String) : Bool :=
  match stx? with
  | some (.atom _ t) => t == text
  | _ => false

def wordOf (stx : Syntax) : String :=
  match stx with
  | .atom _ text => text
  | .ident _ _ n _ => nameText n
  | _ => ""

/-- Is it the name of an option that trusts compiled code? -/
partial def saysNative (stx : Syntax) : Bool :=
  match stx with
  | .ident _ _ (.str _ s) _ => s == "native"
  | .node _ _ args => anyNative args 0
  | _ => false
where
  anyNative (args : Array Syntax) (i : Nat) : Bool :=
    match args[i]? with
    | none => false
    | some stx => saysNative stx || anyNative args (i + 1)

/-- The kinds of which a literal is made; another one may be a notation of the text, and mean anything. -/
def literalKinds : Array Name := #[nullKind, ``Parser.Term.structInst, ``Parser.Term.structInstFields, ``Parser.Term.structInstFieldDef,
  ``Parser.Term.optEllipsis, ``Parser.Term.app, `«term[_]»]

def literalNames : Array Name := #[`all, `none, `default, `reducible, `instances, `asFn, `lemmasOnly,
  `unfoldSameFun, `pos, `neg]

mutual
partial def isLiteral (stx : Syntax) : Bool :=
  match stx with
  | .missing => false
  | .atom _ _ => true
  | .ident _ _ n _ => n == `true || n == `false
  | .node _ kind args =>
    if kind == numLitKind || kind == strLitKind then true
    else if kind == ``Parser.Term.structInstLVal then !saysNative stx
    -- A field without a value takes the definition of its name.
    else if kind == ``Parser.Term.structInstField then stx[1].getNumArgs > 0 && areLiterals args 0 args.size
    else if kind == ``Parser.Term.dotIdent then containsName literalNames stx[1].getId 0
    else containsName literalKinds kind 0 && areLiterals args 0 args.size
partial def areLiterals (args : Array Syntax) (i stop : Nat) : Bool :=
  if i < stop then
    match args[i]? with
    | none => true
    | some stx => isLiteral stx && areLiterals args (i + 1) stop
  else true
end

/-- `(name := …)` that nothing evaluates: arguments of terms, names, priorities, numbers of occurrences, and a tactic. -/
def unevaluated : Array Name := #[``Parser.Term.namedArgument, ``Parser.Term.motive, ``Parser.Term.generalizingParam,
  ``Parser.Command.namedName, ``Parser.Command.namedPrio, ``Parser.Tactic.Conv.occs, `Mathlib.Tactic.LinearCombination.normStx]

/-- Options that are set to names or attributes, which their tactic does not evaluate. -/
def unevaluatedNames : Array String := #["rule_sets", "attr", "eq"]

partial def containsString (strings : Array String) (string : String) (i : Nat) : Bool :=
  match strings[i]? with
  | none => false
  | some s => if s == string then true else containsString strings string (i + 1)

mutual
/-- The option that is a program, of the tactics in a command, in words. -/
partial def optionRefused? (stx : Syntax) : Option String :=
  match stx with
  | .node _ kind args =>
    let isOption := isAtom args[0]? "(" && isAtom args[2]? ":=" && isAtom args[args.size - 1]? ")" && !containsName unevaluated kind 0
    let name := if isOption then wordOf stx[1] else ""
    let isTactic := stx[3].getKind == ``Parser.Tactic.tacticSeq
    if kind == ``Parser.Tactic.posConfigItem && saysNative stx || isOption && saysNative stx[1] then
      some "the option `native` of a tactic trusts compiled code"
    else if isOption && !isTactic && !containsString unevaluatedNames name 0 && !areLiterals args 3 (args.size - 1) then
      some s!"the option `{name}` of a tactic must be set to a literal"
    else anyOptionRefused? args 0
  | _ => none
partial def anyOptionRefused? (args : Array Syntax) (i : Nat) : Option String :=
  match args[i]? with
  | none => none
  | some stx => match optionRefused? stx with
    | none => anyOptionRefused? args (i + 1)
    | refusal => refusal
end

/-- Whose commands a text holds: those of the run's own header, a model's, or the one command of ours that a model's proof ends. -/
inductive Origin where
  | header
  | model
  | proof

def refused? (origin : Origin) (number : Nat) (command : Syntax) : Option String :=
  match origin with
  | .header => none
  | .proof => if number > 0 then some "a command follows the proof" else optionRefused? command
  | .model => match commandRefused? command with
    | none => optionRefused? command
    | refusal => refusal

/-! ### Elaborating text -/

def inputOf (text : String) : Parser.InputContext :=
  { inputString := text, fileName := "<input>", fileMap := FileMap.ofString text, endPos := text.rawEndPos, endPos_valid := by simp }

/-- What elaborating a text left: the state and the commands. -/
structure Outcome where
  state : Command.State
  commands : Array Syntax

/-- Elaborates the commands one after the other, and none from the first on that does not parse. Lean itself would go on within the text
after a syntax error, be it in the middle of a comment or a string, and elaborate what nobody who reads the text takes for a command. -/
partial def elabCommands (origin : Origin) (input : Parser.InputContext) (parser : Parser.ModuleParserState) (state : Command.State)
    (commands : Array Syntax) : IO Outcome := do
  let scope := match state.scopes with
    | scope :: _ => scope
    | [] => { header := "" }
  let context := { env := state.env, options := scope.opts, currNamespace := scope.currNamespace, openDecls := scope.openDecls }
  let (command, next, messages) := Parser.parseCommand input context parser {}
  if messages.hasErrors then return { state := { state with messages := state.messages ++ messages }, commands }
  if Parser.isTerminalCommand command then return { state, commands := commands.push command }
  match refused? origin commands.size command with
  | some refusal =>
    let pos := input.fileMap.toPosition (match command.getPos? with | some pos => pos | none => parser.pos)
    let message : Message := { fileName := "<input>", pos, severity := .error, data := .ofFormat (.text refusal) }
    return { state := { state with messages := state.messages.add message }, commands }
  | none => pure ()
  if h : next.pos ≤ input.inputString.rawEndPos then
    let one ← IO.processCommands { input with endPos := next.pos, endPos_valid := h } parser state
    -- Its messages are those of this command alone.
    elabCommands origin input next { one.commandState with messages := state.messages ++ one.commandState.messages } (commands.push command)
  else
    throw (IO.userError "the parser left the text")

/-- Elaborates `text` on top of `state`, whose messages are dropped. -/
def elabText (origin : Origin) (state : Command.State) (text : String) : IO Outcome := do
  let input := inputOf text.crlfToLf
  -- The parser expects the first command at its place, and skips comments and blank lines only after a token.
  let start := Parser.ParserFn.run Parser.whitespace input { env := state.env, options := {} } {} (Parser.mkParserState input.inputString)
  elabCommands origin input { pos := start.pos } { state with messages := {} } #[]

partial def missing? (env : Environment) (imports : Array Import) (i : Nat) : Option Name :=
  match imports[i]? with
  | none => none
  | some m => if (env.getModuleIdx? m.module).isSome then missing? env imports (i + 1) else some m.module

/-- Elaborates a text that may begin with imports, which `imported?` holds already if it is given. `processHeader` is not used: the embedded
Lean would make the text a module, whose theorems are private. -/
def elabFile (text : String) (imported? : Option Environment := none) : IO Outcome := do
  let input := inputOf text.crlfToLf
  let (header, parser, messages) ← Parser.parseHeader input
  let imports := HeaderSyntax.imports header
  let env ← match imported? with
    | none => importModules imports {} 0 (loadExts := true)
    | some env => match missing? env imports 0 with
      | none => pure env
      | some name => throw (IO.userError s!"`{nameText name}` is not imported")
  let state := Command.mkState env messages {}
  -- Nothing runs what is defined here, so what does not compile is no fault: the embedded Lean lacks the code of many library functions.
  elabCommands .header input parser { state with scopes := [{ header := "", isNoncomputable := true }] } #[]

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

/-! ### Inductive types that the kernel understands in two ways

Definitional equality is not transitive, so what a recursor computes can hang on which of two equal propositions its proof is said to prove.
Kernels before 4.34 take a type for data where its sort is stuck, be it that it is `Prop` to whoever defined it: then a proof's content can be
taken out of it, and any two proofs are equal (leanprover/lean4#14807, which plain Lean text reaches). They also do not check all of a nested
type (#14576, #14616). Hence nothing may be computed to see what an inductive type is, and the types of its constructors are checked again. -/

/-- The arguments of an application (`Expr.getAppArgs` is inlined). -/
partial def argumentsOf (e : Expr) : Array Expr :=
  match e with
  | .app f a => (argumentsOf f).push a
  | _ => #[]

/-- `e` with its head behind definitions alone; nothing else is computed. -/
partial def unfolded (env : Environment) (e : Expr) : Expr :=
  match e with
  | .mdata _ e => unfolded env e
  | .letE _ _ v b _ => unfolded env (b.instantiate1 v)
  | _ => match e.getAppFn with
    | .lam .. => unfolded env e.headBeta
    | .const n us => match constant? env n with
      | some (.defnInfo v) => unfolded env ((v.value.instantiateLevelParams v.levelParams us).beta (argumentsOf e))
      | _ => e
    | _ => e

/-- Does a type end in a sort that is `Prop`, or never is? -/
partial def endsInSort (env : Environment) (type : Expr) : Bool :=
  match unfolded env type with
  | .forallE _ _ b _ => endsInSort env b
  | .sort l => l.isZero || l.isNeverZero
  | _ => false

partial def endsInInductive (env : Environment) (type : Expr) : Bool :=
  match unfolded env type with
  | .forallE _ _ b _ => endsInInductive env b
  | e => match e.getAppFn with
    | .const n _ => match constant? env n with
      | some (.inductInfo _) => true
      | _ => false
    | _ => false

partial def mentions (block : List Name) (e : Expr) : Bool :=
  match block with
  | [] => false
  | n :: rest => containsName e.getUsedConstants n 0 || mentions rest e

/-- Is every field of a constructor that has values of the types of its block one of an inductive type? -/
partial def plainFields (env : Environment) (block : List Name) (type : Expr) : Bool :=
  match type with
  | .forallE _ d b _ => (!mentions block d || endsInInductive env d) && plainFields env block b
  | _ => true

partial def plainConstructors (env : Environment) (block ctors : List Name) : Bool :=
  match ctors with
  | [] => true
  | n :: rest => match constant? env n with
    | some c => plainFields env block c.type && plainConstructors env block rest
    | none => false

partial def plainTypes (env : Environment) (block names : List Name) : Bool :=
  match names with
  | [] => true
  | n :: rest => match constant? env n with
    | some (.inductInfo v) => endsInSort env v.type && plainConstructors env block v.ctors && plainTypes env block rest
    | _ => false

/-! ### Replay: everything new goes through the kernel again, from the pristine environment -/

/-- A name that begins with `name` and that no constant has. -/
partial def freshName (env : Environment) (name : String) : Name :=
  match constant? env (.str .anonymous name) with
  | none => .str .anonymous name
  | some _ => freshName env (name ++ "'")

structure Replay where
  env : Environment
  heartbeats : Nat
  done : NameSet := {}
  error : Option String := none

def insertAll (names : List Name) (set : NameSet) : NameSet :=
  match names with
  | [] => set
  | n :: rest => insertAll rest (set.insert n)

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
      let r ← replayAll source v.type.getUsedConstants 0 r
      replayInductives source rest (← replayCtors source v.ctors r)
    | _ => return { r with error := some s!"{nameText n}: no such inductive type" }
partial def replayAdd (name : Name) (declaration : Declaration) (r : Replay) : IO Replay := do
  if r.error.isSome then return r
  match r.env.addDeclCore (USize.ofNat r.heartbeats) declaration none true with
  | .ok env => return { r with env := env }
  | .error e => return { r with error := some s!"{nameText name}: {← (e.toMessageData {}).toString}" }
/-- The types of constructors again, now that what they mention is there. -/
partial def recheckCtors (source : Environment) (names : List Name) (r : Replay) : IO Replay := do
  match r.error, names with
  | some _, _ => return r
  | none, [] => return r
  | none, n :: rest => match constant? source n with
    | none => return { r with error := some s!"{nameText n}: no such constructor" }
    | some c =>
      let again ← replayAdd n (.axiomDecl { name := freshName r.env "judge_constructor", levelParams := c.levelParams, type := c.type, isUnsafe := false }) r
      recheckCtors source rest { r with error := again.error }
partial def recheckTypes (source : Environment) (names : List Name) (r : Replay) : IO Replay := do
  match names with
  | [] => return r
  | n :: rest => match constant? source n with
    | some (.inductInfo v) => recheckTypes source rest (← recheckCtors source v.ctors r)
    | _ => return r
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
      unless plainTypes source v.all v.all do
        return { r with error := some s!"{nameText name}: what a proof says decides what this inductive type is" }
      -- All types of a block are added at once, so none may be begun for its own sake when another one's constructors reach it.
      let r ← replayInductives source v.all { r with done := insertAll v.all r.done }
      recheckTypes source v.all (← replayAdd name (.inductDecl v.levelParams v.numParams (inductives source v.all) false) r)
    | .ctorInfo v => replaySame name v.type (← replayOne source v.induct r)
    | .recInfo v => match v.all with
      | ind :: _ => replaySame name v.type (← replayOne source ind r)
      | [] => return { r with error := some s!"{nameText name}: a recursor of nothing" }
    | .quotInfo _ => return { r with error := some s!"{nameText name}: quotients cannot be declared again" }
end

/-- The kernel's own allowance in a replay, in units of Lean's heartbeats. -/
def replayHeartbeats : Nat := 200000 * 1000

/-! ### Statements -/

/-- A statement elaborated with `sorry` as its proof, in an environment that no submission touched. -/
structure Statement where
  header : String
  text : String
  base : Command.State
  /-- What a proof of the statement or of its negation may build on: the commands before the theorem, and what its type rests on. -/
  before : Command.State
  after : Command.State
  name : Name
  info : TheoremVal
  own : Array Name

/-- A question about a statement: a goal that raises the flag where it can be proved, or where it cannot. -/
structure Probe where
  flag : String
  detail : String
  raisedByProof : Bool
  goal : Expr

/-- A refusal: a code to count by, words, and Lean's messages. -/
structure Refusal where
  reason : String
  detail : String := ""
  messages : Array Json := #[]

structure Cache where
  /-- The imports of every header, where this process may not import. -/
  imported? : Option Environment := none
  headers : Array (String × Command.State) := #[]
  statement : Option Statement := none
  probes : Option (Array Probe) := none
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
    let o? ← (elabFile (header ++ "\nset_option autoImplicit false\nset_option relaxedAutoImplicit false\n") (← cache.get).imported?).toBaseIO
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
      let prior ← elabText .model base ({ str := text, startPos := 0, stopPos := pos : Substring.Raw }.toString)
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

/-- What tactics have to know of a `match` to reduce it and to split it. -/
partial def withMatchers (source : Environment) (names : Array Name) (i : Nat) (env : Environment) : IO Environment := do
  match names[i]? with
  | none => return env
  | some n => match Meta.Match.Extension.getMatcherInfo? source n with
    | none => withMatchers source names (i + 1) env
    | some info =>
      let context : Core.Context := { fileName := "<input>", fileMap := FileMap.ofString "", options := {} }
      let (_, state) ← (enableRealizationsForConst n).toIO context { env := Meta.Match.Extension.addMatcherInfo env n info }
      withMatchers source names (i + 1) state.env

/-- `before` with those constants of `after` that the type of its theorem rests on, such as the `target.match_1` of a `match` in the header,
and without the theorem: a tactic that found it there would prove by `sorry` what it might prove otherwise. -/
def withHeaderConstants (base before after : Environment) (type : Expr) : IO (Except String Environment) := do
  let reached := (walkAll base after type.getUsedConstants 0 {}).reached
  let r ← replayAll after reached 0 { env := before, heartbeats := replayHeartbeats }
  match r.error with
  | some e => return .error e
  | none => return .ok (← withMatchers after reached 0 r.env)

def elabStatement (cache : IO.Ref Cache) (header text : String) : IO (Except Refusal Statement) := do
  match (← cache.get).statement with
  | some s => if s.header == header && s.text == text then return .ok s
  | none => pure ()
  match ← headerState cache header with
  | .error e => return .error e
  | .ok base =>
    let source := text.crlfToLf ++ "\n  := by sorry\n"
    let o ← elabText .model base source
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
        match ← withHeaderConstants base.env before.env o.state.env info.type with
        | .error e => return refuse e
        | .ok env =>
          let s : Statement := { header, text, base, before := { before with env }, after := o.state, name, info, own }
          cache.modify fun c => { c with statement := some s, probes := none }
          return .ok s
      | _, _ => return refuse "the last command does not state a new theorem"

/-! ### Judging -/

partial def levelsOf (names : List Name) : List Level :=
  match names with
  | [] => []
  | n :: rest => mkLevelParam n :: levelsOf rest

def sameLength (a b : List Name) : Bool :=
  match a, b with
  | [], [] => true
  | _ :: a, _ :: b => sameLength a b
  | _, _ => false

partial def sameNames (a b : List Name) : Bool :=
  match a, b with
  | [], [] => true
  | x :: a, y :: b => if x == y then sameNames a b else false
  | _, _ => false

/-- Do two constants of one name mean the same? A use gives universes by their places and not by their names, and a type means what all its
constructors are: its own type and those that it shares do not tell of one more. -/
def sameConstant (a b : ConstantInfo) : Bool :=
  let levels := levelsOf a.levelParams
  let again (e : Expr) : Expr := e.instantiateLevelParams b.levelParams levels
  sameLength a.levelParams b.levelParams && a.type == again b.type && kindOf a == kindOf b && (match a, b with
    | .inductInfo x, .inductInfo y => x.numParams == y.numParams && sameNames x.ctors y.ctors
    | _, _ => match meaningOf? a, meaningOf? b with
      | some x, some y => x == again y
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

/-- Whether a theorem has exactly this type, whatever it calls the universes. -/
def hasType (info : TheoremVal) (levels : List Name) (type : Expr) : Bool :=
  info.type == type
    || (sameLength info.levelParams levels && info.type.instantiateLevelParams info.levelParams (levelsOf levels) == type)

/-- Judges the constant `name` of `env`: a theorem of exactly the type `type`, from allowed axioms, that the kernel accepts again. -/
def judge (base env : Environment) (name : Name) (levels : List Name) (type : Expr) (replayed : Array Name) (heartbeats : Nat) : IO Verdict := do
  match constant? env name with
  | none => return { refusal := some { reason := "missing_theorem", detail := s!"there is no theorem `{nameText name}`" } }
  | some (.thmInfo info) =>
    let walk := walkOne base env name {}
    let refuse (reason detail : String) : Verdict := { refusal := some { reason, detail }, axioms := walk.axioms }
    unless hasType info levels type do return refuse "type_mismatch" s!"`{nameText name}` does not have the type of the statement"
    match forbidden? walk.axioms 0 with
    | some ax => return refuse "axioms" s!"`{nameText name}` rests on `{nameText ax}`"
    | none => pure ()
    let r ← replayAll env (replayed.push name) 0 { env := base, heartbeats }
    match r.error with
    | some e => return refuse "replay" e
    | none => pure ()
    match constant? r.env name with
    | some (.thmInfo again) =>
      if again.type == info.type then return { axioms := walk.axioms } else return refuse "replay" s!"`{nameText name}` changed its type"
    | _ => return refuse "replay" s!"`{nameText name}` is no theorem after the replay"
  | some c => return { refusal := some { reason := "not_a_theorem", detail := s!"`{nameText name}` is {kindOf c}, not a theorem" } }

/-- Judges what a submission made of the statement's theorem and of its definitions. -/
def judgeSubmitted (s : Statement) (env : Environment) : IO Verdict := do
  -- In the environment after the statement: its type may rest on what its own header made, such as `target.match_1`.
  let reached := (walkAll s.base.env s.after.env s.info.type.getUsedConstants 0 {}).seen
  let v ← judge s.base.env env s.name s.info.levelParams s.info.type (newNames s.base.env env) replayHeartbeats
  if v.refusal.isNone then
    match changed? s env reached 0 with
    | some n => return { v with refusal := some { reason := "statement_changed", detail := s!"`{nameText n}` is not what the statement defines" } }
    | none => pure ()
  return v

def check (s : Statement) (submission : String) : IO (Verdict × Array Json) := do
  let o ← elabText .model s.base submission
  let messages ← messagesJson o.state.messages.toArray 0 0 #[]
  let v ← judgeSubmitted s o.state.env
  -- The cause of a failed elaboration is its error; what is missing afterwards is only the consequence.
  if erred o.state then
    return ({ v with refusal := some { reason := "elaboration_error", detail := "the submission does not elaborate" } }, messages)
  return (v, messages)

/-- `type` with `make` of its conclusion, which comes after all leading quantifiers and hypotheses. -/
partial def withConclusion (make : Expr → Expr) (type : Expr) : Expr :=
  match type with
  | .forallE n d b info => .forallE n d (withConclusion make b) info
  | .letE n t v b nondep => .letE n t v (withConclusion make b) nondep
  | .mdata _ e => withConclusion make e
  | c => make c

def absurdity (type : Expr) : Expr := withConclusion (fun _ => mkConst ``False) type
def contrary (type : Expr) : Expr := withConclusion (fun c => mkNot c) type

partial def levelText (levels : List Name) : String :=
  match levels with
  | [] => ""
  | [l] => nameText l
  | l :: rest => nameText l ++ ", " ++ levelText rest

/-- The scopes of a statement without its universes and variables: the goal is closed, and they would be declared twice or put before it. -/
def closedScopes (scopes : List Command.Scope) : List Command.Scope :=
  match scopes with
  | [] => []
  | scope :: rest =>
    { scope with levelNames := [], varDecls := #[], varUIds := #[], includedVars := [], omittedVars := [] } :: closedScopes rest

/-- Elaborates the tactic block against `type` and judges what came out. The scratch axiom only names the type; a proof from it fails by its axioms. -/
def prove (s : Statement) (type : Expr) (tactic : String) (heartbeats : Nat) : IO (Verdict × Array Json) := do
  let levels := s.info.levelParams
  let goal := freshName s.before.env "judge_goal"
  let name := freshName s.before.env "judge_proof"
  let declaration : Declaration := .axiomDecl { name := goal, levelParams := levels, type, isUnsafe := false }
  let scratch ← match s.before.env.addDeclCore 0 declaration none true with
    | .ok env => pure { s.before with env := env, scopes := closedScopes s.before.scopes }
    | .error e => throw (IO.userError (← (e.toMessageData {}).toString))
  let universes := match levels with | [] => "" | _ => ".{" ++ levelText levels ++ "}"
  let opening := s!"set_option maxHeartbeats {heartbeats} in theorem _root_.{nameText name}{universes} : type_of% @_root_.{nameText goal}{universes} := by\nunhygienic intros\n"
  let o ← elabText .proof scratch (opening ++ tactic ++ "\n")
  let messages ← messagesJson o.state.messages.toArray 2 0 #[]
  if erred o.state then return ({ refusal := some { reason := "unproved", detail := "the tactic failed" } }, messages)
  return (← judge s.base.env o.state.env name levels type #[] (heartbeats * 1000), messages)

/-! ### Traps: what a statement says that its author may not mean

No check of a proof can see them. Some are read off the elaborated type; the others are probes, each a goal of its own that the caller
tries to prove. A goal is closed over everything in scope where its operation stands, so that `a - b` under a hypothesis `b ≤ a` is no trap. -/

structure Local where
  fvar : Expr
  type : Expr
  isProp : Bool
  info : BinderInfo

structure Scope where
  lctx : LocalContext := {}
  instances : LocalInstances := #[]
  locals : Array Local := #[]

structure Traps where
  flags : Array String := #[]
  probes : Array Probe := #[]
  /-- Numbers the free variables. -/
  next : Nat := 0

def runMeta {α : Type} (env : Environment) (scope : Scope) (act : MetaM α) : IO α := do
  let context : Core.Context := { fileName := "<input>", fileMap := FileMap.ofString "", options := {} }
  let (a, _, _) ← act.toIO context { env } { lctx := scope.lctx, localInstances := scope.instances }
  return a

def runMeta? {α : Type} (env : Environment) (scope : Scope) (act : MetaM α) : IO (Option α) := do
  match ← (runMeta env scope act).toBaseIO with
  | .ok a => return some a
  | .error _ => return none

-- Functions of ours: the embedded Lean can call those of the library but not pass them on.
def isProp (type : Expr) : MetaM Bool := do return ← Meta.isProp type
def ppExpr (e : Expr) : MetaM Format := do return ← Meta.ppExpr e

def isPropIn (env : Environment) (scope : Scope) (type : Expr) : IO Bool := do
  match ← runMeta? env scope (isProp type) with
  | some b => return b
  | none => return false

def push (env : Environment) (scope : Scope) (number : Nat) (name : Name) (type : Expr) (info : BinderInfo) : IO Scope := do
  let id : FVarId := { name := .num `judge number }
  let isProp ← isPropIn env scope type
  let lctx := scope.lctx.mkLocalDecl id name type info
  let instances ← match info, type.getAppFn with
    | .instImplicit, .const className _ => pure (scope.instances.push { className, fvar := .fvar id })
    | _, _ => pure scope.instances
  return { lctx, instances, locals := scope.locals.push { fvar := .fvar id, type, isProp, info } }

/-- All leading quantifiers and hypotheses of a type, and its conclusion. A `let` is replaced by its value. -/
partial def telescope (env : Environment) (scope : Scope) (next : Nat) (type : Expr) : IO (Scope × Nat × Expr) := do
  match type with
  | .forallE n d b info =>
    let inner ← push env scope next n d info
    telescope env inner (next + 1) (b.instantiate1 (.fvar { name := .num `judge next }))
  | .letE _ _ v b _ => telescope env scope next (b.instantiate1 v)
  | .mdata _ e => telescope env scope next e
  | c => return (scope, next, c)

partial def fvarsOf (locals : Array Local) (i : Nat) (acc : Array Expr) : Array Expr :=
  match locals[i]? with
  | none => acc
  | some l => fvarsOf locals (i + 1) (acc.push l.fvar)

def localName (scope : Scope) (l : Local) : String :=
  match scope.lctx.find? l.fvar.fvarId! with
  | some d => nameText d.userName
  | none => ""

def closed (scope : Scope) (goal : Expr) : Expr := scope.lctx.mkForall (fvarsOf scope.locals 0 #[]) goal

def Traps.raise (t : Traps) (flag : String) : Traps :=
  if containsString t.flags flag 0 then t else { t with flags := t.flags.push flag }

def argument? (e : Expr) (i : Nat) : Option Expr := (argumentsOf e)[i]?

def naturalOf? (e : Expr) : Option Nat :=
  match e with
  | .lit (.natVal n) => some n
  | .mdata _ e => naturalOf? e
  | _ => if e.isAppOfArity ``OfNat.ofNat 3 then (match argument? e 1 with | some (.lit (.natVal n)) => some n | _ => none) else none

def isNumeral (e : Expr) : Bool := (naturalOf? e).isSome

def isNonzeroNumeral (e : Expr) : Bool :=
  match naturalOf? e with
  | some k => k != 0
  | none => false

def levelsIn (e : Expr) : List Level :=
  match e.consumeMData.getAppFn with
  | .const _ us => us
  | _ => []

def headName (e : Expr) : Name :=
  match e.consumeMData.getAppFn with
  | .const n _ => n
  | _ => .anonymous

/-- The name of a type, behind its abbreviations. -/
partial def typeName (env : Environment) (type : Expr) : Name :=
  let n := headName type
  match constant? env n with
  | some (.defnInfo v) => match v.hints with
    | .abbrev => match headName v.value with
      | .anonymous => n
      | _ => typeName env v.value
    | _ => n
  | _ => n

def printed (env : Environment) (scope : Scope) (e : Expr) : IO String := do
  match ← runMeta? env scope (ppExpr e) with
  | some f => return f.pretty
  | none => return ""

/-- Adds the condition under which an operation means what its name says; `condition` builds it from the operands. -/
def require (env : Environment) (scope : Scope) (t : Traps) (flag : String) (operation : Expr) (condition : MetaM Expr) : IO Traps := do
  match ← runMeta? env scope condition with
  | some goal => return { t with probes := t.probes.push { flag, detail := ← printed env scope operation, raisedByProof := false, goal := closed scope goal } }
  | none => return t.raise flag

def zeroOf (type : Expr) : MetaM Expr := Meta.mkNumeral type 0

def nonzero (type e : Expr) : MetaM Expr := do Meta.mkAppM ``Ne #[e, ← zeroOf type]
def atMost (a b : Expr) : MetaM Expr := Meta.mkAppM ``LE.le #[a, b]
def nonnegative (type e : Expr) : MetaM Expr := do Meta.mkAppM ``LE.le #[← zeroOf type, e]
def positive (type e : Expr) : MetaM Expr := do Meta.mkAppM ``LT.lt #[← zeroOf type, e]
def divides (a b : Expr) : MetaM Expr := Meta.mkAppM ``Dvd.dvd #[a, b]

def wrapping : Array Name := #[``Fin, ``BitVec, ``UInt8, ``UInt16, ``UInt32, ``UInt64, ``USize, ``Int8, ``Int16, ``Int32, ``Int64, ``ISize, ``Char, `ZMod]
def floats : Array Name := #[``Float, ``Float32]
/-- The types in which a numeral is the number that it looks like. -/
def numbers : Array Name := #[``Nat, ``Int, ``Rat, `Real, `Complex, `NNReal, `ENNReal, `NNRat, `PNat]
def truncating : Array Name := #[``Nat, `NNReal, `ENNReal, `NNRat, `PNat]
/-- Functions with a made-up value where they are not defined. -/
def madeUp : Array Name := #[`tsum, `deriv, `fderiv, `derivWithin, `intervalIntegral, `MeasureTheory.integral, `limUnder, `sSup, `sInf, `iSup, `iInf, `tprod, `finsum,
  ``getElem!, `List.head!, `List.getLast!, `List.get!, `Array.get!, `Array.back!, `Option.get!, `String.toNat!, `String.toInt!, `List.minimum!, `List.maximum!, `panic, ``panicCore]

def boolLiteral (e : Expr) : Bool := e.isConstOf ``Bool.true || e.isConstOf ``Bool.false

partial def isEmptyCollection (e : Expr) : Bool :=
  e.isAppOf ``List.nil || e.isAppOf ``EmptyCollection.emptyCollection || (e.isAppOf ``List.toArray && (match argument? e 1 with | some l => isEmptyCollection l | none => false))
    || ((e.isAppOf ``List.range || e.isAppOf `Finset.range) && (match argument? e 0 with | some n => naturalOf? n == some 0 | none => false))

def isEmptyType (e : Expr) : Bool :=
  e.isConstOf ``Empty || e.isAppOf ``PEmpty || (e.isAppOfArity ``Fin 1 && (match argument? e 0 with | some n => naturalOf? n == some 0 | none => false))

def intDivisions : Array Name := #[``Int.ediv, ``Int.tdiv, ``Int.fdiv, ``Int.emod, ``Int.tmod, ``Int.fmod]

/-- What an application itself says; its parts are walked elsewhere. -/
def trapsOfApp (env : Environment) (scope : Scope) (t : Traps) (e : Expr) : IO Traps := do
  let arguments := argumentsOf e
  let fn := headName e
  let type := arguments[0]?.getD e
  let name := typeName env type
  let n := arguments.size
  let a := arguments[n - 2]?.getD e
  let b := arguments[n - 1]?.getD e
  let arithmetic := n == 6 && (fn == ``HAdd.hAdd || fn == ``HSub.hSub || fn == ``HMul.hMul || fn == ``HDiv.hDiv || fn == ``HMod.hMod || fn == ``HPow.hPow)
  let t := if (arithmetic || fn == ``Neg.neg || fn == ``OfNat.ofNat) && containsName wrapping name 0 then t.raise "wrapping_type" else t
  let t := if containsName floats name 0 then t.raise "float" else t
  let t := if fn == ``OfNat.ofNat && !containsName numbers name 0 && !containsName wrapping name 0 && !containsName floats name 0 then t.raise "numeral_type" else t
  let t := if containsName madeUp fn 0 then t.raise "made_up_value" else t
  let t := if fn == ``Eq && n == 3 && ((type.isConstOf ``Bool && !boolLiteral a && !boolLiteral b) || type.isProp) then t.raise "bool_for_prop" else t
  let t := if fn == ``Membership.mem && n == 5 && (isEmptyCollection a || isEmptyCollection b) then t.raise "empty_domain" else t
  let t := if fn == ``HPow.hPow && n == 6 && a.isAppOf ``Neg.neg && (match argument? a 2 with | some x => isNumeral x | none => false) then t.raise "precedence" else t
  let t := if fn == ``Neg.neg && n == 3 && b.isAppOf ``HPow.hPow && (match argument? b 4 with | some x => isNumeral x | none => false) then t.raise "precedence" else t
  let t := if fn == ``Exists && n == 2 then (match b with | .lam _ _ body _ => (match body with | .forallE _ _ _ _ => t.raise "exists_implies" | _ => t) | _ => t) else t
  let t ← if n == 6 && fn == ``HSub.hSub && containsName truncating name 0 then require env scope t "nat_subtraction" e (atMost b a) else pure t
  let t ← if fn == ``Nat.sub && n == 2 then require env scope t "nat_subtraction" e (atMost b a) else pure t
  let t ← if fn == ``Nat.pred && n == 1 then require env scope t "nat_subtraction" e (positive (mkConst ``Nat) b) else pure t
  let t ← if fn == ``Int.toNat && n == 1 then require env scope t "nat_subtraction" e (nonnegative (mkConst ``Int) b) else pure t
  let rational := if n == 2 && (fn == ``Rat.div || fn == ``Rat.divInt || fn == ``mkRat) then b else if n == 1 && fn == ``Rat.inv then b else mkNatLit 1
  let t ← if isNonzeroNumeral rational then pure t else require env scope t "division_by_zero" e (do nonzero (← Meta.inferType rational) rational)
  let byName := if n == 2 && (fn == ``Nat.div || fn == ``Nat.mod) then ``Nat else if n == 2 && containsName intDivisions fn 0 then ``Int else .anonymous
  let t ← if n == 6 && (fn == ``HDiv.hDiv || fn == ``HMod.hMod) && !isNonzeroNumeral b then
      require env scope t "division_by_zero" e (nonzero type b) else pure t
  let t ← if byName != .anonymous && !isNonzeroNumeral b then require env scope t "division_by_zero" e (nonzero (mkConst byName) b) else pure t
  let t ← if fn == ``Inv.inv && n == 3 && !isNonzeroNumeral b then require env scope t "division_by_zero" e (nonzero type b) else pure t
  let t ← if (n == 6 && fn == ``HDiv.hDiv && name == ``Nat) || (fn == ``Nat.div && n == 2) then require env scope t "nat_division" e (divides b a) else pure t
  let t ← if (n == 6 && fn == ``HDiv.hDiv && name == ``Int) || (byName == ``Int && fn != ``Int.emod && fn != ``Int.tmod && fn != ``Int.fmod) then require env scope t "int_division" e (divides b a) else pure t
  let t ← if n == 6 && fn == ``HMod.hMod && name == ``Int then require env scope t "negative_remainder" e (nonnegative type a) else pure t
  let t ← if fn == `Real.sqrt && n == 1 then require env scope t "root_of_negative" e (do nonnegative (← Meta.inferType b) b) else pure t
  let t ← if fn == `Real.log && n == 1 then require env scope t "log_of_nonpositive" e (do positive (← Meta.inferType b) b) else pure t
  return t

mutual
/-- Walks a term with everything that is in it. -/
partial def trapsOf (env : Environment) (scope : Scope) (e : Expr) (t : Traps) : IO Traps := do
  match e with
  | .app .. =>
    let t ← trapsOfApp env scope t e
    let t ← match e.getAppFn with
      | .lam .. => trapsOf env scope e.getAppFn t
      | _ => pure t
    trapsOfAll env scope (argumentsOf e) 0 t
  | .lam n d b info => trapsOfBinder env scope n d b info t
  | .forallE n d b info =>
    let t := if isEmptyType d then t.raise "empty_domain" else t
    let (inner, next, _) ← telescope env scope t.next e
    let t ← if ← isPropIn env scope e then do
        let probe : Probe := { flag := "vacuous_part", detail := ← printed env scope e, raisedByProof := true, goal := closed inner (mkConst ``False) }
        pure { t with probes := t.probes.push probe }
      else pure t
    trapsOfBinder env scope n d b info { t with next := next }
  | .letE n d v b _ =>
    let t ← trapsOf env scope v (← trapsOf env scope d (t.raise "let_in_statement"))
    trapsOf env scope (b.instantiate1 v) t
  | .mdata _ e => trapsOf env scope e t
  | .proj _ _ e => trapsOf env scope e t
  | _ => return t
partial def trapsOfAll (env : Environment) (scope : Scope) (es : Array Expr) (i : Nat) (t : Traps) : IO Traps := do
  match es[i]? with
  | none => return t
  | some e => trapsOfAll env scope es (i + 1) (← trapsOf env scope e t)
partial def trapsOfBinder (env : Environment) (scope : Scope) (n : Name) (d b : Expr) (info : BinderInfo) (t : Traps) : IO Traps := do
  let t ← trapsOf env scope d t
  let inner ← push env scope t.next n d info
  trapsOf env inner (b.instantiate1 (.fvar { name := .num `judge t.next })) { t with next := t.next + 1 }
end

partial def conjunct (goal hypothesis : Expr) : Bool :=
  hypothesis == goal || (hypothesis.isAppOfArity ``And 2 && (match hypothesis with | .app (.app _ a) b => conjunct goal a || conjunct goal b | _ => false))

/-- Is the goal an argument of a hypothesis that is a type class or a structure around it (`Fact`)? -/
partial def isAmong (goal : Expr) (es : Array Expr) (i : Nat) : Bool :=
  match es[i]? with
  | none => false
  | some e => if e == goal then true else isAmong goal es (i + 1)

def isConnective (e : Expr) : Bool := e.isAppOf ``Or || e.isAppOf ``Iff || e.isAppOf ``Not || e.isAppOf ``And || e.isAppOf ``Exists || e.isAppOf ``Eq || e.isAppOf ``Ne

def swapped? (e : Expr) : Option Expr :=
  match e with
  | .app (.app (.app f t) a) b => if f.isConstOf ``Eq then some (mkApp3 f t b a) else none
  | _ => none

/-- The type of a function applied to `es`, but for its universes. -/
partial def applied? (type : Expr) (es : Array Expr) (i : Nat) : Option Expr :=
  match es[i]?, type with
  | none, type => some type
  | some e, .forallE _ _ b _ => applied? (b.instantiate1 e) es (i + 1)
  | some _, _ => none

/-- Is the goal what a field of the statement's own structures promises of `value`, or of one of its parts down to `depth`? -/
partial def promised (env : Environment) (own : Array Name) (value type goal : Expr) (depth i : Nat) : Bool :=
  if depth == 0 then false else
  match own[i]? with
  | none => false
  | some n =>
    let found := match constant? env n with
      | some c => if n.getPrefix == headName type && (env.getProjectionFnInfo? n).isSome then
          (match applied? c.type ((argumentsOf type).push value) 0 with
          | some field => conjunct goal field || promised env own (mkAppN (.const n (levelsIn type)) ((argumentsOf type).push value)) field goal (depth - 1) 0
          | none => false) else false
      | none => false
    found || promised env own value type goal depth (i + 1)

partial def dropLocal (locals : Array Local) (i j : Nat) (acc : Array Expr) : Array Expr :=
  match locals[j]? with
  | none => acc
  | some l => dropLocal locals i (j + 1) (if i == j then acc else acc.push l.fvar)

partial def usedLater (locals : Array Local) (fvar : Expr) (j : Nat) : Bool :=
  match locals[j]? with
  | none => false
  | some l => if l.type.containsFVar fvar.fvarId! then true else usedLater locals fvar (j + 1)

/-- For every hypothesis: does it matter? And is it the goal itself? -/
partial def trapsOfHypotheses (s : Statement) (scope : Scope) (conclusion : Expr) (i : Nat) (t : Traps) : Traps :=
  match scope.locals[i]? with
  | none => t
  | some l =>
    let t := if isEmptyType l.type then t.raise "empty_domain" else t
    let t := if promised s.before.env s.own l.fvar l.type conclusion 4 0 then t.raise "goal_assumed" else t
    if !l.isProp then trapsOfHypotheses s scope conclusion (i + 1) t else
    let t := match l.info with | .instImplicit => t.raise "instance_hypothesis" | _ => t
    -- Of a proposition that is a variable one may well assume itself: such a theorem is about logic.
    let t := if l.type == conclusion && !conclusion.getAppFn.isFVar then t.raise "goal_in_hypotheses"
      else if conjunct conclusion l.type || (match swapped? conclusion with | some c => conjunct c l.type | none => false)
        || (!isConnective l.type && isAmong conclusion (argumentsOf l.type) 0) then t.raise "goal_assumed" else t
    let dropped := scope.lctx.mkForall (dropLocal scope.locals i 0 #[]) conclusion
    let name := localName scope l
    let t := if usedLater scope.locals l.fvar (i + 1) || conclusion.containsFVar l.fvar.fvarId! then t else
      { t with probes := t.probes.push { flag := "useless_hypothesis", detail := name, raisedByProof := true, goal := dropped } }
    trapsOfHypotheses s scope conclusion (i + 1) t

partial def numeralName? (seen : Array (Expr × Name)) (e : Expr) (i : Nat) : Option Name :=
  match seen[i]? with
  | none => none
  | some (x, n) => if x == e then some n else numeralName? seen e (i + 1)

mutual
/-- Every numeral of a number type as a variable of that type. -/
partial def generalise (e : Expr) (seen : Array (Expr × Name)) : Expr × Array (Expr × Name) :=
  match e with
  | .app f a =>
    if e.isAppOfArity ``OfNat.ofNat 3 && isNumeral e && containsName numbers (headName ((argument? e 0).getD e)) 0 then
      match numeralName? seen e 0 with
      | some n => (.fvar { name := n }, seen)
      | none =>
        let n := .num `numeral seen.size
        (.fvar { name := n }, seen.push (e, n))
    else
      let (f, seen) := generalise f seen
      let (a, seen) := generalise a seen
      (.app f a, seen)
  | .lam n d b i =>
    let (d, seen) := generalise d seen
    let (b, seen) := generalise b seen
    (.lam n d b i, seen)
  | .forallE n d b i =>
    let (d, seen) := generalise d seen
    let (b, seen) := generalise b seen
    (.forallE n d b i, seen)
  | .mdata _ e => generalise e seen
  | e => (e, seen)
end

partial def declareNumerals (seen : Array (Expr × Name)) (i : Nat) (lctx : LocalContext) (fvars : Array Expr) : LocalContext × Array Expr :=
  match seen[i]? with
  | none => (lctx, fvars)
  | some (e, n) => declareNumerals seen (i + 1) (lctx.mkLocalDecl { name := n } (.str .anonymous ("numeral" ++ toString i)) ((argument? e 0).getD e) .default) (fvars.push (.fvar { name := n }))

def generalised? (type : Expr) : Option Expr :=
  let (e, seen) := generalise type #[]
  if seen.size == 0 then none else
  let (lctx, fvars) := declareNumerals seen 0 {} #[]
  some (lctx.mkForall fvars e)

/-- The statement's own definitions replaced by their values. -/
partial def unfoldOwn (env : Environment) (own : Array Name) (e : Expr) : Expr :=
  match e with
  | .const n _ => if containsName own n 0 then (match constant? env n with | some c => (match meaningOf? c with | some v => unfoldOwn env own v | none => e) | none => e) else e
  | .app f a => ((unfoldOwn env own f).beta #[unfoldOwn env own a])
  | .lam n d b i => .lam n (unfoldOwn env own d) (unfoldOwn env own b) i
  | .forallE n d b i => .forallE n (unfoldOwn env own d) (unfoldOwn env own b) i
  | .mdata _ e => unfoldOwn env own e
  | e => e

partial def resultOf (type : Expr) : Expr :=
  match type with
  | .forallE _ _ b _ => resultOf b
  | .mdata _ e => resultOf e
  | e => e

/-- The statement's own definitions: predicates, and the operations inside them. -/
partial def trapsOfOwn (env : Environment) (own : Array Name) (i : Nat) (t : Traps) : IO Traps := do
  match own[i]? with
  | none => return t
  | some n => match constant? env n with
    | some (.defnInfo v) =>
      let t := if (resultOf v.type).isProp && !n.isInternalDetail then t.raise "own_predicate" else t
      if n.isInternalDetail then trapsOfOwn env own (i + 1) t else
      trapsOfOwn env own (i + 1) (← trapsOf env {} v.value t)
    | _ => trapsOfOwn env own (i + 1) t

def sidesEqual (e : Expr) : Bool :=
  match e with
  | .app (.app (.app f _) a) b => f.isConstOf ``Eq && a == b
  | .app (.app f a) b => f.isConstOf ``Iff && a == b
  | _ => false

partial def shadows (env : Environment) (type : Expr) : Bool :=
  match type with
  | .forallE n _ b _ => (match n with | .str .anonymous _ => (constant? env n).isSome | _ => false) || shadows env b
  | .mdata _ e => shadows env e
  | _ => false

partial def trapsOfTypes (env : Environment) (scope : Scope) (locals : Array Local) (i : Nat) (t : Traps) : IO Traps := do
  match locals[i]? with
  | none => return t
  | some l => trapsOfTypes env scope locals (i + 1) (← trapsOf env scope l.type t)

partial def hasLet (e : Expr) : Bool :=
  match e with
  | .forallE _ _ b _ => hasLet b
  | .mdata _ e => hasLet e
  | .letE .. => true
  | _ => false

def trapsIn (s : Statement) : IO (Traps × Scope) := do
  let env := s.before.env
  let (scope, next, conclusion) ← telescope env {} 0 s.info.type
  let t : Traps := { next }
  let vacuity : Probe := { flag := "vacuous", detail := "", raisedByProof := true, goal := absurdity s.info.type }
  -- Both the conclusion and its negation follow only where no values meet the hypotheses, be it that no tactic sees that by itself.
  let contradiction : Probe := { flag := "conclusion_refuted", detail := "", raisedByProof := true, goal := contrary s.info.type }
  let t := if scope.locals.size == 0 then t else { t with probes := (t.probes.push vacuity).push contradiction }
  let t := if shadows env s.info.type then t.raise "shadowed_name" else t
  let t := if hasLet s.info.type then t.raise "let_in_statement" else t
  let unfolded := unfoldOwn env s.own conclusion
  let t := if conclusion.isConstOf ``True || sidesEqual unfolded || unfolded.isConstOf ``True then t.raise "trivial" else t
  let t := match generalised? (closed scope conclusion) with
    | some goal => { t with probes := t.probes.push { flag := "numbers_unused", detail := "", raisedByProof := true, goal } }
    | none => t
  let t := trapsOfHypotheses s scope conclusion 0 t
  let t ← trapsOfTypes env scope scope.locals 0 t
  let t ← trapsOf env scope conclusion t
  let t ← trapsOfOwn env s.own 0 t
  return (t, scope)

/-- The probes whose goals the kernel takes for propositions; the others (a generalised `Fin 5`) mean nothing. -/
partial def wellTyped (env : Environment) (levels : List Name) (probes : Array Probe) (i : Nat) (acc : Array Probe) : Array Probe :=
  match probes[i]? with
  | none => acc
  | some p =>
    let declaration : Declaration := .axiomDecl { name := `judge_probe, levelParams := levels, type := p.goal, isUnsafe := false }
    match env.addDeclCore 0 declaration none true with
    | .ok _ => wellTyped env levels probes (i + 1) (acc.push p)
    | .error _ => wellTyped env levels probes (i + 1) acc

partial def probesJson (probes : Array Probe) (i : Nat) (acc : Array Json) : Array Json :=
  match probes[i]? with
  | none => acc
  | some p => probesJson probes (i + 1) (acc.push (Json.mkObj [("flag", p.flag), ("detail", p.detail), ("raised_by_proof", Json.bool p.raisedByProof)]))

partial def bindersJson (env : Environment) (scope : Scope) (i : Nat) (acc : Array Json) : IO (Array Json) := do
  match scope.locals[i]? with
  | none => return acc
  | some l =>
    let name := localName scope l
    let kind := if l.isProp then "hypothesis" else match l.info with | .instImplicit => "instance" | _ => "value"
    bindersJson env scope (i + 1) (acc.push (Json.mkObj [("name", name), ("kind", kind), ("type", ← printed env scope l.type)]))

partial def stringsJson (strings : Array String) (i : Nat) (acc : Array Json) : Array Json :=
  match strings[i]? with
  | none => acc
  | some s => stringsJson strings (i + 1) (acc.push (Json.str s))

def inspect (cache : IO.Ref Cache) (s : Statement) : IO Json := do
  let (t, scope) ← trapsIn s
  let probes := wellTyped s.before.env s.info.levelParams t.probes 0 #[]
  cache.modify fun c => { c with probes := some probes }
  return Json.mkObj [("flags", Json.arr (stringsJson t.flags 0 #[])), ("probes", Json.arr (probesJson probes 0 #[])),
    ("binders", Json.arr (← bindersJson s.before.env scope 0 #[]))]

/-- The goals that `prove` knows: `claim`, `negation` of the whole, `absurdity` of the hypotheses, and the probe of a number. -/
def goalType? (cache : IO.Ref Cache) (s : Statement) (goal : String) : IO (Option Expr) := do
  match goal with
  | "claim" => return some s.info.type
  | "negation" => return some (mkNot s.info.type)
  | "absurdity" => return some (absurdity s.info.type)
  | _ => match goal.toNat? with
    | none => return none
    | some k =>
      if (← cache.get).probes.isNone then discard <| inspect cache s
      match (← cache.get).probes with
      | some probes => return (probes[k]?).map (·.goal)
      | none => return none

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

/-! ### The second judge: constants as text, from one process to another

What a submission runs while it is elaborated can reach the process that judges it, should it slip through the gate. So one process
elaborates the statement, another one the submission, and both write down what they added to the header: expressions as a table of rows,
each of which may use those before it, and declarations. A third process, which elaborates no model's text, reads both and judges them as
`check` does. A row is an array whose first element says what it is; names are arrays of their parts. -/

partial def nameParts (name : Name) : Array Json :=
  match name with
  | .anonymous => #[]
  | .str p s => (nameParts p).push (Json.str s)
  | .num p n => (nameParts p).push (toJson n)

def nameJson (name : Name) : Json := Json.arr (nameParts name)

partial def nameList (names : List Name) (acc : Array Json) : Json :=
  match names with
  | [] => Json.arr acc
  | n :: rest => nameList rest (acc.push (nameJson n))

partial def levelJson (level : Level) : Json :=
  match level with
  | .zero => Json.arr #["zero"]
  | .succ l => Json.arr #["succ", levelJson l]
  | .max a b => Json.arr #["max", levelJson a, levelJson b]
  | .imax a b => Json.arr #["imax", levelJson a, levelJson b]
  | .param n => Json.arr #["param", nameJson n]
  | .mvar _ => Json.arr #["open"]

partial def levelsJson (levels : List Level) (acc : Array Json) : Json :=
  match levels with
  | [] => Json.arr acc
  | l :: rest => levelsJson rest (acc.push (levelJson l))

structure Written where
  done : NameSet := {}
  /-- The expressions of the rows by their hash. The library's maps are not for interpreted code. -/
  buckets : Array (Array (Expr × Nat)) := Array.replicate 65536 #[]
  rows : Array Json := #[]
  declarations : Array Json := #[]

partial def placeIn? (bucket : Array (Expr × Nat)) (e : Expr) (i : Nat) : Option Nat :=
  match bucket[i]? with
  | none => none
  | some (e', place) => if e == e' then some place else placeIn? bucket e (i + 1)

def Written.bucket (w : Written) (e : Expr) : Nat := e.hash.toNat % w.buckets.size

/-- An expression without notes to the elaborator around it. -/
partial def bareExpr (e : Expr) : Expr :=
  match e with
  | .mdata _ e => bareExpr e
  | e => e

def Written.place? (w : Written) (e : Expr) : Option Nat :=
  let e := bareExpr e
  placeIn? (w.buckets[w.bucket e]?.getD #[]) e 0

/-- The row's number of an expression that is written. -/
def Written.at (w : Written) (e : Expr) : Json :=
  match w.place? e with
  | some place => toJson place
  | none => Json.null

/-- The row of an expression whose parts are written. Names of bound variables, which mean nothing, are left out. -/
def rowOf (e : Expr) (w : Written) : Array Json :=
  match e with
  | .bvar i => #["bvar", toJson i]
  | .sort l => #["sort", levelJson l]
  | .const n us => #["const", nameJson n, levelsJson us #[]]
  | .app f a => #["app", w.at f, w.at a]
  | .lam _ d b _ => #["lam", w.at d, w.at b]
  | .forallE _ d b _ => #["forall", w.at d, w.at b]
  | .letE _ t v b _ => #["let", w.at t, w.at v, w.at b]
  | .lit (.natVal n) => #["nat", Json.str (toString n)]
  | .lit (.strVal s) => #["string", Json.str s]
  | .proj n i e => #["proj", nameJson n, toJson i, w.at e]
  -- Nothing that the kernel has taken holds one; the reader refuses the row.
  | .mdata .. | .fvar _ | .mvar _ => #["open"]

def partsOf (e : Expr) : Array Expr :=
  match e with
  | .app f a => #[f, a]
  | .lam _ d b _ => #[d, b]
  | .forallE _ d b _ => #[d, b]
  | .letE _ t v b _ => #[t, v, b]
  | .proj _ _ e => #[e]
  | _ => #[]

partial def unwritten? (parts : Array Expr) (i : Nat) (w : Written) : Option Expr :=
  match parts[i]? with
  | none => none
  | some e => match w.place? e with
    | some _ => unwritten? parts (i + 1) w
    | none => some e

/-- Writes expressions, the last one first, each after its parts. Not by recursion: a long proof may be deeper than the stack. -/
partial def writeExprs (todo : Array Expr) (w : Written) : Written :=
  match todo[todo.size - 1]? with
  | none => w
  | some e =>
    let e := bareExpr e
    match w.place? e, unwritten? (partsOf e) 0 w with
    | some _, _ => writeExprs todo.pop w
    | none, some part => writeExprs (todo.push part) w
    | none, none =>
      let row := Json.arr (rowOf e w)
      let b := w.bucket e
      let bucket := (w.buckets[b]?.getD #[]).push (e, w.rows.size)
      writeExprs todo.pop { w with buckets := w.buckets.set! b bucket, rows := w.rows.push row }

def hintsJson (hints : ReducibilityHints) : Json :=
  match hints with
  | .opaque => "opaque"
  | .abbrev => "abbrev"
  | .regular height => toJson height.toNat

def writeDeclaration (c : ConstantInfo) (rest : Json) (w : Written) : Written :=
  let w := writeExprs #[c.type] w
  let (value, w) := match valueOf? c with
    | some v => let w := writeExprs #[v] w; (w.at v, w)
    | none => (Json.null, w)
  let declaration := #[Json.str (kindOf c), nameJson c.name, nameList c.levelParams #[], w.at c.type, value, rest]
  { w with declarations := w.declarations.push (Json.arr declaration) }

partial def writeCtors (env : Environment) (ctors : List Name) (w : Written) (acc : Array Json) : Json × Written :=
  match ctors with
  | [] => (Json.arr acc, w)
  | n :: rest => match constant? env n with
    | none => writeCtors env rest w acc
    | some c =>
      let w := writeExprs #[c.type] w
      writeCtors env rest w (acc.push (Json.arr #[nameJson n, w.at c.type]))

partial def writeTypes (env : Environment) (names : List Name) (w : Written) (acc : Array Json) : Json × Written :=
  match names with
  | [] => (Json.arr acc, w)
  | n :: rest => match constant? env n with
    | some (.inductInfo v) =>
      let (ctors, w) := writeCtors env v.ctors (writeExprs #[v.type] w) #[]
      writeTypes env rest w (acc.push (Json.arr #[nameJson n, w.at v.type, ctors]))
    | _ => writeTypes env rest w acc

mutual
/-- Writes the constants that `env` has over `base`, each after those that it uses. -/
partial def writeAll (base env : Environment) (names : Array Name) (i : Nat) (w : Written) : Written :=
  match names[i]? with
  | none => w
  | some n => writeAll base env names (i + 1) (writeOne base env n w)
partial def writeList (base env : Environment) (names : List Name) (w : Written) : Written :=
  match names with
  | [] => w
  | n :: rest => writeList base env rest (writeOne base env n w)
/-- What the types of a block and of their constructors use. -/
partial def writeUsed (base env : Environment) (names : List Name) (w : Written) : Written :=
  match names with
  | [] => w
  | n :: rest => match constant? env n with
    | none => writeUsed base env rest w
    | some c =>
      let w := writeAll base env c.type.getUsedConstants 0 w
      match c with
      | .inductInfo v => writeUsed base env rest (writeUsed base env v.ctors w)
      | _ => writeUsed base env rest w
partial def writeOne (base env : Environment) (name : Name) (w : Written) : Written :=
  if w.done.contains name || (constant? base name).isSome then w else
  match constant? env name with
  | none => w
  | some c =>
    -- As in the replay: what proves nothing is left out.
    if c.isUnsafe || c.isPartial then w else
    match c with
    | .ctorInfo v => writeOne base env v.induct w
    | .recInfo v => writeList base env v.all w
    | .quotInfo _ => w
    | .inductInfo v =>
      let w := writeUsed base env v.all { w with done := insertAll v.all w.done }
      let (types, w) := writeTypes env v.all w #[]
      { w with declarations := w.declarations.push (Json.arr #["inductive", nameList v.levelParams #[], toJson v.numParams, types]) }
    | _ =>
      let w := writeAll base env c.type.getUsedConstants 0 { w with done := w.done.insert name }
      let w := match valueOf? c with
        | some v => writeAll base env v.getUsedConstants 0 w
        | none => w
      writeDeclaration c (match c with | .defnInfo v => hintsJson v.hints | _ => Json.null) w
end

/-- What `env` has over the header, as text. -/
def written (s : Statement) (env : Environment) : String :=
  let w := writeAll s.base.env env (newNames s.base.env env) 0 {}
  (Json.mkObj [("theorem", nameJson s.name), ("rows", Json.arr w.rows), ("declarations", Json.arr w.declarations)]).compress

/-! Reading. A text that is none of these throws: the statement's is no verdict then, a submission's is refused (see `replay`). -/

def item (j : Json) (i : Nat) : IO Json :=
  match j with
  | .arr items => match items[i]? with
    | some j => return j
    | none => throw (IO.userError "the text lacks an element")
  | _ => throw (IO.userError "the text lacks an array")

def items (j : Json) : IO (Array Json) :=
  match j with
  | .arr items => return items
  | _ => throw (IO.userError "the text lacks an array")

def word (j : Json) : IO String :=
  match j with
  | .str s => return s
  | _ => throw (IO.userError "the text lacks a word")

def natural (j : Json) : IO Nat :=
  match j.getNat? with
  | .ok n => return n
  | .error _ => throw (IO.userError "the text lacks a number")

partial def nameFrom (parts : Array Json) (i : Nat) (name : Name) : IO Name := do
  match parts[i]? with
  | none => return name
  | some (.str s) => nameFrom parts (i + 1) (.str name s)
  | some j => nameFrom parts (i + 1) (.num name (← natural j))

def readName (j : Json) : IO Name := do nameFrom (← items j) 0 .anonymous

partial def namesFrom (names : Array Json) (i : Nat) : IO (List Name) := do
  match names[i]? with
  | none => return []
  | some j =>
    let n ← readName j
    return n :: (← namesFrom names (i + 1))

def readNames (j : Json) : IO (List Name) := do namesFrom (← items j) 0

partial def readLevel (j : Json) : IO Level := do
  match ← word (← item j 0) with
  | "zero" => return .zero
  | "succ" => return .succ (← readLevel (← item j 1))
  | "max" => return .max (← readLevel (← item j 1)) (← readLevel (← item j 2))
  | "imax" => return .imax (← readLevel (← item j 1)) (← readLevel (← item j 2))
  | "param" => return .param (← readName (← item j 1))
  | _ => throw (IO.userError "the text has an unknown level")

partial def levelsFrom (levels : Array Json) (i : Nat) : IO (List Level) := do
  match levels[i]? with
  | none => return []
  | some j =>
    let l ← readLevel j
    return l :: (← levelsFrom levels (i + 1))

def readExpr (j : Json) (known : Array Expr) : IO Expr := do
  match known[← natural j]? with
  | some e => return e
  | none => throw (IO.userError "the text uses an expression before it is there")

def readRow (row : Json) (known : Array Expr) : IO Expr := do
  let child (i : Nat) : IO Expr := do readExpr (← item row i) known
  match ← word (← item row 0) with
  | "bvar" => return .bvar (← natural (← item row 1))
  | "sort" => return .sort (← readLevel (← item row 1))
  | "const" => return .const (← readName (← item row 1)) (← levelsFrom (← items (← item row 2)) 0)
  | "app" => return .app (← child 1) (← child 2)
  | "lam" => return .lam `x (← child 1) (← child 2) .default
  | "forall" => return .forallE `x (← child 1) (← child 2) .default
  | "let" => return .letE `x (← child 1) (← child 2) (← child 3) false
  | "nat" => match (← word (← item row 1)).toNat? with
    | some n => return .lit (.natVal n)
    | none => throw (IO.userError "the text has an unknown number")
  | "string" => return .lit (.strVal (← word (← item row 1)))
  | "proj" => return .proj (← readName (← item row 1)) (← natural (← item row 2)) (← child 3)
  | _ => throw (IO.userError "the text has an unknown expression")

partial def readRows (rows : Array Json) (i : Nat) (known : Array Expr) : IO (Array Expr) := do
  match rows[i]? with
  | none => return known
  | some row => readRows rows (i + 1) (known.push (← readRow row known))

partial def readCtors (ctors : Array Json) (known : Array Expr) (i : Nat) : IO (List Constructor) := do
  match ctors[i]? with
  | none => return []
  | some j =>
    let c : Constructor := { name := ← readName (← item j 0), type := ← readExpr (← item j 1) known }
    return c :: (← readCtors ctors known (i + 1))

partial def readTypes (types : Array Json) (known : Array Expr) (i : Nat) : IO (List InductiveType) := do
  match types[i]? with
  | none => return []
  | some j =>
    let ctors ← readCtors (← items (← item j 2)) known 0
    let t : InductiveType := { name := ← readName (← item j 0), type := ← readExpr (← item j 1) known, ctors }
    return t :: (← readTypes types known (i + 1))

def readHints (j : Json) : IO ReducibilityHints := do
  match j with
  | .str "opaque" => return .opaque
  | .str "abbrev" => return .abbrev
  | _ => return .regular (UInt32.ofNat (← natural j))

def readDeclaration (j : Json) (known : Array Expr) : IO Declaration := do
  let kind ← word (← item j 0)
  if kind == "inductive" then
    return .inductDecl (← readNames (← item j 1)) (← natural (← item j 2)) (← readTypes (← items (← item j 3)) known 0) false
  let name ← readName (← item j 1)
  let levelParams ← readNames (← item j 2)
  let type ← readExpr (← item j 3) known
  if kind == "axiom" then return .axiomDecl { name, levelParams, type, isUnsafe := false }
  let value ← readExpr (← item j 4) known
  match kind with
  | "theorem" => return .thmDecl { name, levelParams, type, value, all := [name] }
  | "opaque" => return .opaqueDecl { name, levelParams, type, value, isUnsafe := false, all := [name] }
  | "def" => return .defnDecl { name, levelParams, type, value, hints := ← readHints (← item j 5), safety := .safe, all := [name] }
  | _ => throw (IO.userError "the text has an unknown declaration")

def refuseKnown (env : Environment) (name : Name) : IO Unit := do
  match constant? env name with
  | some _ => throw (IO.userError s!"the text declares `{nameText name}` again")
  | none => return ()

/-- The kernel does not check them yet: that is done when they are replayed. Nor does it refuse names that are there, with which a text
would say to whoever reads `env`, and not the environment of the replay, that a definition of the library is another one. -/
partial def readDeclarations (declarations : Array Json) (known : Array Expr) (i : Nat) (env : Environment) : IO Environment := do
  match declarations[i]? with
  | none => return env
  | some j =>
    let declaration ← readDeclaration j known
    match declaration with
    | .axiomDecl v => refuseKnown env v.name
    | .thmDecl v => refuseKnown env v.name
    | .opaqueDecl v => refuseKnown env v.name
    | .defnDecl v => refuseKnown env v.name
    | _ => pure ()  -- of inductive types it does
    match env.addDeclCore 0 declaration none false with
    | .ok env => readDeclarations declarations known (i + 1) env
    | .error e => throw (IO.userError (← (e.toMessageData {}).toString))

/-- The environment that a text adds to `base`, and the name of its theorem. -/
def readText (base : Environment) (text : String) : IO (Environment × Name) := do
  match Json.parse text with
  | .error e => throw (IO.userError e)
  | .ok j =>
    let part (key : String) : IO Json := match j.getObjVal? key with
      | .ok value => return value
      | .error e => throw (IO.userError e)
    let known ← readRows (← items (← part "rows")) 0 #[]
    let env ← readDeclarations (← items (← part "declarations")) known 0 base
    return (env, ← readName (← part "theorem"))

/-- What the statement alone adds to the header or, where the request has one, its submission. -/
def exported (cache : IO.Ref Cache) (args : Json) : IO Json := do
  match ← elabStatement cache (field args "header") (field args "statement") with
  | .error e => return reply (some e) #[] #[]
  | .ok s =>
    let env ← match args.getObjValAs? String "submission" with
      | .ok submission => pure (← elabText .model s.base submission).state.env
      | .error _ => pure s.after.env
    return (reply none #[] #[]).setObjVal! "facts" (Json.mkObj [("text", Json.str (written s env))])

/-- `check`, of what two other processes wrote. -/
def replay (cache : IO.Ref Cache) (header statement submission : String) : IO Json := do
  match ← headerState cache header with
  | .error e => return reply (some e) #[] #[]
  | .ok base =>
    let (stated, name) ← readText base.env statement
    match constant? stated name, ← (readText base.env submission).toBaseIO with
    | some (.thmInfo info), .ok (submitted, _) =>
      let own := without (newNames base.env stated) name 0 #[]
      let s : Statement := { header, text := "", base, before := base, after := { base with env := stated }, name, info, own }
      let v ← judgeSubmitted s submitted
      return reply v.refusal v.axioms #[]
    | _, .error e => return reply (some { reason := "export", detail := e.toString }) #[] #[]
    | _, _ => throw (IO.userError "the statement's text has no theorem")

/-! ### Answers -/

def withStatement (cache : IO.Ref Cache) (args : Json) (act : Statement → IO (Verdict × Array Json)) : IO Json := do
  match ← elabStatement cache (field args "header") (field args "statement") with
  | .error e => return reply (some e) #[] #[]
  | .ok s =>
    let (v, messages) ← act s
    return reply v.refusal v.axioms messages

def ownCommand (cache : IO.Ref Cache) (request : Json) : IO Json := do
  match request.getObjVal? "export", request.getObjVal? "replay" with
  | .ok args, _ => return ← exported cache args
  | _, .ok args => return ← replay cache (field args "header") (field args "statement") (field args "submission")
  | _, _ => pure ()
  match request.getObjVal? "elaborate", request.getObjVal? "check", request.getObjVal? "prove", request.getObjVal? "inspect" with
  | .ok args, _, _, _ => withStatement cache args fun _ => return ({}, #[])
  | _, .ok args, _, _ => withStatement cache args fun s => check s (field args "submission")
  | _, _, .ok args, _ => withStatement cache args fun s => do
    match ← goalType? cache s (field args "goal"), args.getObjValAs? Nat "heartbeats" with
    | some type, .ok heartbeats => prove s type (field args "tactic") heartbeats
    | _, _ => throw (IO.userError "`prove` needs a goal and heartbeats")
  | _, _, _, .ok args => do
    match ← elabStatement cache (field args "header") (field args "statement") with
    | .error e => return reply (some e) #[] #[]
    | .ok s => return (reply none #[] #[]).setObjVal! "facts" (← inspect cache s)
  | _, _, _, _ => throw (IO.userError "unknown command")

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
      | some state => some <$> elabText .header state text
      | none => pure none
    | .error _ => some <$> elabFile text
  match o? with
  | none => return Json.mkObj [("message", "Unknown environment.")]
  | some o =>
    let number := (← cache.get).states.size
    let messages ← replMessages o.state.messages.toArray 0 #[]
    cache.modify fun c => { c with states := c.states.push { o.state with messages := {} } }
    return Json.mkObj [("env", toJson number), ("messages", Json.arr messages)]

/-- The reply to one request of ours, with the time that it took. -/
def answerOne (cache : IO.Ref Cache) (request : Json) : IO Json := do
  let began ← IO.monoNanosNow
  let result ← try ownCommand cache request catch e => pure (Json.mkObj [("message", e.toString)])
  let milliseconds : JsonNumber := { mantissa := Int.ofNat (((← IO.monoNanosNow) - began) / 1000), exponent := 3 }
  return (result.setObjVal! "nonce" (Json.str (field request "nonce"))).setObjVal! "milliseconds" (Json.num milliseconds)

partial def answerAll (cache : IO.Ref Cache) (requests : Array Json) (deadline i : Nat) (acc : Array Json) : IO (Array Json) := do
  match requests[i]? with
  | none => return acc
  | some request =>
    if i > 0 && (← IO.monoMsNow) > deadline then return acc
    answerAll cache requests deadline (i + 1) (acc.push (← answerOne cache request))

def answer (cache : IO.Ref Cache) (block : String) : IO Json := do
  match Json.parse block with
  | .error e => return Json.mkObj [("message", e)]
  | .ok request =>
    match request.getObjValAs? String "cmd" with
    | .ok text => try replCommand cache request text catch e => return Json.mkObj [("message", e.toString)]
    | .error _ =>
      let nonce := Json.str (field request "nonce")
      match request.getObjVal? "batch", request.getObjValAs? Nat "milliseconds" with
      | .ok (.arr requests), .ok milliseconds =>
        let replies ← answerAll cache requests ((← IO.monoMsNow) + milliseconds) 0 #[]
        return Json.mkObj [("nonce", nonce), ("replies", Json.arr replies)]
      | _, _ => answerOne cache request

/-! ### Behind a server that runs Lean text

There a command of the server's Lean elaborates this file in an environment of its own and evaluates `served`, which judges from the
environment that the command stands in: the imports, once more imported they would not fit into memory. It is an attribute because an
attribute is what both Leans evaluate by its name. -/

/-- `erase` answers the block that it is given as a name, in a message. -/
def served : AttributeImpl where
  name := `served
  descr := ""
  add _ _ _ := pure ()
  erase name := do
    let env := (← get).env
    -- A server that takes somebody's text for the imports would make its definitions the pristine ones.
    unless (nodeNames env.toKernelEnv.constants.map₂.root #[]).size == 0 do
      throw (.error .missing "there is more than the imports")
    let block := match name with | .str _ s => s | _ => ""
    let cache ← IO.mkRef { imported? := some env : Cache }
    let text := (← answer cache block).compress
    let message : Message := { fileName := "<input>", pos := ⟨1, 0⟩, severity := .information, data := .ofFormat (.text text) }
    modify fun s => { s with messages := s.messages.add message }

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
