;; agent-shell (https://github.com/xenodium/agent-shell), Emacs 29.1 or later
(require 'agent-shell)

(defvar acp-server-command '("acp-server")
  "The program to start, and its arguments.")

(defun acp-server-make-agent-config ()
  "Return what agent-shell has to know of acp-server."
  (agent-shell-make-agent-config
   :identifier 'acp-server
   :mode-line-name "acp-server"
   :buffer-name "acp-server"
   :shell-prompt "acp-server> "
   :shell-prompt-regexp "acp-server> "
   :client-maker (lambda (buffer)
                   (acp-make-client
                    :command (car acp-server-command)
                    :command-params (cdr acp-server-command)
                    :context-buffer buffer))))

(defun acp-server ()
  "Talk to acp-server."
  (interactive)
  (agent-shell-start :config (acp-server-make-agent-config)))

(add-to-list 'agent-shell-agent-configs (acp-server-make-agent-config) t)
