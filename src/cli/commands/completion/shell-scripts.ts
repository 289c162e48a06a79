/** The shells ask the command itself each time, so that an update of it needs no new script. */
export function completionScript(shell: "bash" | "zsh" | "fish"): string {
  return scripts[shell];
}

const scripts = {
  bash: `_treadle() {
  local word found=()
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  while IFS= read -r word; do
    found+=("$(printf %q "$word")")
  done < <(treadle complete -- "\${words[@]//\\\\/}" 2>/dev/null)
  COMPREPLY=("\${found[@]}")
}
complete -o default -F _treadle treadle
`,
  zsh: `#compdef treadle
_treadle() {
  local -a found
  found=("\${(@f)$(treadle complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _treadle treadle
`,
  fish: `function __treadle_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  treadle complete -- $words[2..-1] "$current" 2>/dev/null
end
complete -c treadle -a '(__treadle_complete)'
`,
} as const;
