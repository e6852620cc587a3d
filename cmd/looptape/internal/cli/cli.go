// Package cli contains what the commands of looptape share: the world outside the process,
// exit statuses, arguments and flags, reading files, and printing.
package cli

import (
	"context"
	"fmt"
	"io"
	"log"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/trace/check"
)

// World is everything outside the process that the commands use.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(name string) string
	Now      func() time.Time
	// InTerminal, OutTerminal and ErrTerminal report whether In, Out and Err are terminals.
	InTerminal, OutTerminal, ErrTerminal bool
	Build                                *debug.BuildInfo // nil if unknown
	Environ                              func() []string  // for programs that a command starts
	Token                                func() string    // unguessable letters and digits
	// Interrupted returns a context that ends when the command receives a signal to stop.
	Interrupted func(context.Context) (context.Context, context.CancelFunc)

	outputError error // the first error of printing
}

// Version returns the module's version, the revision if the build recorded it, and the Go
// version.
func (w *World) Version() string {
	b := w.Build
	if b == nil {
		return "(unknown)"
	}
	v := b.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range b.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value
		}
	}
	return v + " " + b.GoVersion
}

// Status is an error with an exit status. Its message was printed before.
type Status int

// The exit statuses.
const (
	OK     Status = 0
	Failed Status = 1 // a check failed
	Usage  Status = 2 // wrong usage, or input that cannot be read
)

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Result returns the status of a command that failed, else of one that could not read its input
// completely. It returns nil for neither.
func Result(failed, incomplete bool) error {
	switch {
	case failed:
		return Failed
	case incomplete:
		return Usage
	}
	return nil
}

// PrintError prints an error. It ignores a failure to write to standard error.
func (w *World) PrintError(err error) { _ = w.Message("looptape: %v\n", err) }

// Message prints text for people on standard error.
func (w *World) Message(format string, args ...any) error {
	_, err := w.Err.Write(visible.Text(fmt.Appendf(nil, format, args...)))
	return err
}

// Log returns a logger for standard error.
func (w *World) Log() *log.Logger { return log.New(messages{w}, "looptape: ", 0) }

// messages is a writer of messages.
type messages struct{ *World }

func (m messages) Write(text []byte) (int, error) {
	return len(text), m.Message("%s", text)
}

// Warn prints a message for people as an error.
func (w *World) Warn(format string, args ...any) { w.PrintError(fmt.Errorf(format, args...)) }

// PrintErrors prints one error for each item.
func PrintErrors[T fmt.Stringer](w *World, list []T) {
	for _, item := range list {
		w.Warn("%s", item)
	}
}

// Provider is a server with its own environment variables in the SDKs.
type Provider struct{ Name, BaseVariable, URL, KeyVariable string }

// Providers are the servers whose variables the official SDKs read.
func Providers() []Provider {
	return []Provider{
		{"openai", "OPENAI_BASE_URL", "https://api.openai.com/v1", "OPENAI_API_KEY"},
		{"anthropic", "ANTHROPIC_BASE_URL", "https://api.anthropic.com", "ANTHROPIC_API_KEY"},
		{"gemini", "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com", "GEMINI_API_KEY"},
	}
}

// AnyKey is a key for servers that accept any key. It is not a word that occurs in texts, since
// clients remove their key from error messages.
const AnyKey = "any-key"

// keyVariables are the environment variables with the keys of providers of models.
var keyVariables = []string{
	"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_API_KEY",
	"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "GOOGLE_VERTEX_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_API_KEY",
	"AZURE_AI_API_KEY", "AZURE_INFERENCE_CREDENTIAL", "AWS_BEARER_TOKEN_BEDROCK", "MISTRAL_API_KEY", "COHERE_API_KEY", "CO_API_KEY",
	"GROQ_API_KEY", "XAI_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "FIREWORKS_API_KEY",
	"PERPLEXITY_API_KEY", "PPLX_API_KEY", "CEREBRAS_API_KEY", "SAMBANOVA_API_KEY", "DEEPINFRA_API_KEY", "NOVITA_API_KEY", "HYPERBOLIC_API_KEY",
	"NVIDIA_API_KEY", "REPLICATE_API_TOKEN", "HF_TOKEN", "HUGGINGFACE_API_KEY", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACEHUB_API_TOKEN",
	"MOONSHOT_API_KEY", "DASHSCOPE_API_KEY", "ZHIPUAI_API_KEY", "ZAI_API_KEY", "MINIMAX_API_KEY", "AI_GATEWAY_API_KEY", "LITELLM_API_KEY",
	"LITELLM_MASTER_KEY", "WATSONX_APIKEY", "WATSONX_API_KEY", "VOYAGE_API_KEY", "OLLAMA_API_KEY",
}

// isKey reports whether a variable of an environment is a key of a provider.
func isKey(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.Contains(keyVariables, strings.ToUpper(name))
}

// WithoutKeys returns an environment without the keys of providers.
func WithoutKeys(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), isKey)
}

// AnyKeys returns the keys of providers in an environment, each with the value [AnyKey].
func AnyKeys(environ []string) (env []string) {
	for _, variable := range environ {
		if isKey(variable) {
			name, _, _ := strings.Cut(variable, "=")
			env = append(env, name+"="+AnyKey)
		}
	}
	return env
}

// LocalEnv returns variables and those with which a program calls a server on this machine without a proxy.
func LocalEnv(w *World, env []string) []string {
	env = slices.Clone(env)
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		env = append(env, name+"="+strings.TrimPrefix(w.Getenv(name)+",127.0.0.1,localhost", ","))
	}
	return env
}

// Suppressed parses the values of --suppress as invariants with their reasons.
func Suppressed(values []string) (map[string]string, error) {
	reasons := map[string]string{}
	for _, s := range values {
		id, why, ok := strings.Cut(s, "=")
		known := slices.ContainsFunc(check.Catalog(), func(i check.Info) bool { return i.ID == id })
		if !ok || why == "" || !known {
			return nil, fmt.Errorf("--suppress %q: want an invariant (INV-01 to INV-27) and a reason, such as INV-05=compaction", s)
		}
		reasons[id] = why
	}
	return reasons, nil
}

// ShellLine returns a command, quoted for a shell.
func ShellLine(words ...string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		quoted[i] = word
	}
	return strings.Join(quoted, " ")
}

// Count returns a number with its noun, in the plural if needed.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprint(n, " ", noun)
}
