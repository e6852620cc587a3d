// Package node runs the programs of conformance/npm: tool loops with libraries from npm. It starts
// no server and installs nothing; see [Dir].
package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Client is a program.
type Client struct {
	Name        string // of its file
	Description string
	// Packages are its packages from npm, the package of the loop first.
	Packages []string
	// Protocols are the names of its protocols, as in protocol.Protocol.
	Protocols []string
}

// The protocols of the programs.
var (
	openAI    = []string{"openai-chat", "openai-responses"}
	anthropic = []string{"anthropic-messages"}
	google    = []string{"gemini"}
	all       = []string{"openai-chat", "openai-responses", "anthropic-messages", "gemini"}
)

// Clients returns all programs.
func Clients() []Client {
	return []Client{
		{"openai", "a manual loop with OpenAI's SDK", []string{"openai"}, openAI},
		{"openai-runner", "the runners of OpenAI's SDK", []string{"openai"}, openAI},
		{"anthropic", "a manual loop with Anthropic's SDK", []string{"@anthropic-ai/sdk"}, anthropic},
		{"anthropic-runner", "the runner of Anthropic's SDK", []string{"@anthropic-ai/sdk"}, anthropic},
		{"google", "a manual loop with Google's SDK", []string{"@google/genai"}, google},
		{"google-chat", "the chat of Google's SDK", []string{"@google/genai"}, google},
		{"ai", "Vercel's AI SDK", []string{"ai", "@ai-sdk/openai", "@ai-sdk/anthropic", "@ai-sdk/google"}, all},
		{"agents", "OpenAI's Agents SDK", []string{"@openai/agents", "openai"}, openAI},
		{"langgraph", "LangGraph's ready-made agent", []string{"@langchain/langgraph", "@langchain/core", "@langchain/openai", "@langchain/anthropic", "@langchain/google-genai"}, all},
	}
}

// File returns the path of a program below [Dir].
func (c Client) File() string { return filepath.Join("clients", c.Name+".mjs") }

// Dir returns the folder of the programs: npm or conformance/npm in the current folder or above. The
// error names what must be installed before they can run.
func Dir() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := here; ; at = filepath.Dir(at) {
		for _, dir := range []string{filepath.Join(at, "npm"), filepath.Join(at, "conformance", "npm")} {
			if _, err := os.Stat(filepath.Join(dir, "clients", "case.mjs")); err == nil {
				return dir, ready(dir)
			}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("missing folder conformance/npm in %s and above", here)
		}
	}
}

// ready returns an error if the programs of a folder cannot run.
func ready(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("missing command node: install Node.js 20 or later")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		return errors.New("the packages from npm are not installed: run npm ci in conformance/npm")
	}
	return nil
}
