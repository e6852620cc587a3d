package redact

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// ordinaryWords are fixed words of the protocols, of JSON Schema and of placeholders, and English
// words of 8 letters or more that occur in prompts and responses. They are in lower case and sorted.
var ordinaryWords = strings.Fields(`
	action actions actually agent allow always answer answers anthropic any anything api_key apikey application application/json array assistant assistants audio auto automatic
	available base64 basic bearer because blocked boolean bucket building business calculator call calling canceled changeme chat.completion chat.completion.chunk
	children city claude client code complete completed completion completions computer content content_block_delta content_block_start content_block_stop content_filter
	conversation country custom customer data database date default delta description developer dictionary different disabled document documents dummy embedding empty enabled end_turn
	enum ephemeral error everyone everything example examples exception executable expected external failed false fake field file filename files finish_reason float foo bar baz
	format function function_call function_call_output functions general generate generated gemini hello high hostname identity image image_url important in_progress incomplete index
	industry information input input_text instance instructions integer interface internal international invalid item json json_object json_schema knowledge language length library
	limit list local localhost location low management max_output_tokens max_tokens maximum medium member message message_delta message_start message_stop messages method minimal minimum missing model
	models mode name national never new no none null number object observation oauth oauth2 ollama openai operation optional options organization original output output_text parallel parameter
	parameters particular password path performance permission persistent personal please possible previous private problem processing production program project prompt properties property
	provided provider public python question questions queued random read reasoning redacted refusal remember request required resource resources response response.completed response.created
	responses result results role safety schema search secret sentence service session shared should similar simple something sometimes sonnet source special standard started statement status stop
	stop_sequence streaming string strings structure structured subject succeeded success summary support system temperature temporary test testing text text_delta thinking thinking_delta through together token
	tokens tomorrow tool tool_call tool_calls tool_choice tool_result tool_use tools transaction translate translation true truncated type unknown unlimited unused update url usage user username using
	validation value values variable vector version video weather website whatever window without wonderful working write xxx yes yesterday
`)

var isOrdinaryWord = setOf(ordinaryWords)

func setOf(words []string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}

// isOrdinary reports whether text is a word that occurs elsewhere by chance, or that a protocol
// requires. Redaction does not change it, except in headers.
func isOrdinary(text string) bool {
	return len(text) <= maxOrdinary && isOrdinaryWord[strings.ToLower(text)]
}

const maxOrdinary = 24

// protocolNames are the names of members with fixed words, and of models. Redaction does not change
// their values.
var protocolNames = []string{"role", "type", "object", "model", "finish_reason", "finishReason", "stop_reason", "stopReason", "stop_sequence", "status", "event", "modelVersion", "service_tier", "tool_choice"}

// isFixed reports whether redaction may not change the text at a place: a word of a protocol. It
// changes the name of a JSON member only if it contains a secret that looks random.
func (p *place) isFixed() bool {
	return p.at != nil && p.kind == kindBody && !p.secret && slices.Contains(protocolNames, p.name)
}

// Check returns an error if Secret has the name of a member with words of a protocol, such as role.
// A place such as /user/role is accepted.
func (o *Rules) Check() error {
	for _, name := range o.Secret {
		if hasName(protocolNames, plainName(name)) {
			return fmt.Errorf("name of secrets %q: its values are words of a protocol, which a replay requires: name the place instead, such as /user/%[1]s", name)
		}
	}
	return nil
}

// CheckHeader returns an error if the header of a request has an ordinary word as its key, such as
// assistant. Redaction does not replace such a word elsewhere. The error does not contain the word.
func (o *Rules) CheckHeader(h http.Header) error {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if o.secrecy(kindHeader, name) < secretAlways || strings.HasSuffix(plainName(name), "cookie") {
			continue
		}
		for _, v := range h[name] {
			if key := v[len(scheme(v)):]; len(key) >= match.MinSecret && isOrdinary(key) {
				return fmt.Errorf("the header %s has an ordinary word as its secret, which also occurs elsewhere: use another key, or name the header in Options.NotSecret (--not-secret)", name)
			}
		}
	}
	return nil
}
