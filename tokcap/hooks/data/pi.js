// Cap the results of tools. Removed by `tokcap hook remove`.
import { spawnSync } from "node:child_process"

const tools = "@tools@"
const [program, ...words] = "@words@"

export default function (pi) {
  pi.on("tool_result", (event) => {
    if (!tools.some((tool) => new RegExp(`^(?:${tool})$`).test(event.toolName))) return
    const texts = event.content.filter((part) => part.type === "text")
    const input = JSON.stringify({ tool: event.toolName, text: texts.map((part) => part.text).join("\n") })
    const { stdout } = spawnSync(program, words, { input, maxBuffer: 1 << 28 })
    if (!stdout?.length) return
    const { text } = JSON.parse(stdout.toString())
    return { content: [{ type: "text", text }, ...event.content.filter((part) => part.type !== "text")] }
  })
}
