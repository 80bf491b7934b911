// Tell the model the exit status of commands, and cap the results of other tools. Removed by `tokcap hook remove`.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"

const tools = "@tools@"
const [program, ...options] = "@words@"

export const TokcapPlugin = async () => ({
  "tool.execute.after": async (input, output) => {
    if (typeof output?.output !== "string") return
    if (input.tool === "bash") {
      const status = output.metadata?.exit
      if (status) output.output = `${output.output.replace(/\n$/, "")}\n[exit status ${status}]`
      return
    }
    if (!tools.includes(input.tool)) return
    const file = output.metadata?.outputPath
    const whole = file && existsSync(file) ? readFileSync(file) : Buffer.from(output.output)
    const capped = spawnSync(program, options, { input: whole, maxBuffer: 1 << 28 })
    if (capped.status !== 0) return
    // The mark of JSON is on stderr, because it would not be JSON.
    const marks = capped.stderr.toString().split("\n").filter((line) => line.startsWith("[TRUNCATED]"))
    output.output = [capped.stdout.toString().replace(/\n$/, ""), ...marks].join("\n")
  },
})
