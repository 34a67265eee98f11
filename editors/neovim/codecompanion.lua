-- CodeCompanion (https://github.com/olimorris/codecompanion.nvim), Neovim 0.11 or later
require("codecompanion").setup({
  adapters = {
    acp = {
      acp_server = function()
        return {
          name = "acp_server",
          formatted_name = "acp-server",
          type = "acp",
          roles = { llm = "assistant", user = "user" },
          opts = { vision = true },
          commands = { default = { "acp-server" } },
          defaults = { mcpServers = {}, timeout = 20000 },
          parameters = {
            protocolVersion = 1,
            clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
            clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
          },
          handlers = {
            setup = function(_) return true end,
            auth = function(_) return true end, -- a key is stored with `acp-server setup`
            form_messages = function(self, messages, capabilities)
              return require("codecompanion.adapters.acp.helpers").form_messages(self, messages, capabilities)
            end,
            on_exit = function(_, _) end,
          },
        }
      end,
    },
  },
  interactions = { chat = { adapter = "acp_server" } },
})
