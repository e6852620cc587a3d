// Package signed names the members of opaque data that a provider signs or encrypts.
package signed

// Members are the members with a signature or encrypted data, mostly in base64, which a provider verifies: of Anthropic
// (signature, data, encrypted_content, encrypted_index), OpenAI (encrypted_content), Gemini (thoughtSignature;
// thought_signature in its Chat Completions), OpenRouter (signature, data) and Bedrock (signature, redactedContent).
// Callers must not change the list.
var Members = []string{"signature", "data", "encrypted_content", "encrypted_index", "thoughtSignature", "thought_signature", "redactedContent"}
