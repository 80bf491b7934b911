// Tell the model the exit status of commands, and cap the results of other tools. Removed by `tokcap hook remove`.
import { spawnSync } from "node:child_process"

const tools = "@tools@"
const [program, ...words] = "@words@"

export const TokcapPlugin = async () => ({
  "tool.execute.after": async (input, output) => {
    if (input.tool === "bash") {
      const status = output?.metadata?.exit
      if (status && typeof output.output === "string") {
        output.output = `${output.output.replace(/\n$/, "")}\n[exit status ${status}]`
      }
      return
    }
    if (!tools.some((tool) => new RegExp(`^(?:${tool})$`).test(input.tool))) return
    // Tools of opencode have a text, those of MCP servers a list.
    const parts = Array.isArray(output?.content) ? output.content.filter((part) => part.type === "text") : []
    const text = typeof output?.output === "string" ? output.output : parts.map((part) => part.text).join("\n")
    const event = { tool: input.tool, text, file: output?.metadata?.outputPath }
    const { stdout } = spawnSync(program, words, { input: JSON.stringify(event), maxBuffer: 1 << 28 })
    if (!stdout?.length) return
    const capped = JSON.parse(stdout.toString()).text
    if (typeof output.output === "string") output.output = capped
    parts.forEach((part, number) => (part.text = number ? "" : capped))
  },
})
