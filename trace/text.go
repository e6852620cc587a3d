package trace

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/internal/visible"
	"github.com/looptape/looptape/llm"
)

// FormatText returns the text form of events, for goldens and for people. Each event is one line
// with its kind, its place and its members.
//
//	run.start       r1  clock=virtual preset=deuz max_steps=5 tools=weather,ask(client)
//	model.request   0   prefix_messages=0 +user "What is the weather in Paris?"
//	model.response  0   call c1 weather {"city":"Paris"}; finish_reason=stop usage=10/5
//	decision        0   continue: 1 call
//	tool.end        0   c1 ok {"city":"Paris","tempC":22}
//	run.end         r1  end_turn steps=2 model_calls=2 usage=30/12
//
// The place is the step, or the name of the run for events outside of steps. If the run differs
// from the run of the previous line, the name of the run precedes the step, as in r2:0. Optional
// suffixes follow: an unusual attempt as in 0.2, a purpose as in 0/summary, and a time as in
// @30ms. The usual attempt is 1 for requests and their results, and 0 for other events.
//
// Words, names and ids are unquoted if they contain only letters, digits and _.- ; others are JSON
// strings. Text that is not UTF-8 is b64"…". Arguments and results that are JSON objects or arrays
// without white space are unquoted. Rare members have the form key=value. The tool name of a
// result is omitted if the call with its id, earlier in the same run, has the same name.
//
// Different canonical traces have different text forms. For other traces the form omits Seq.
func FormatText(events []Event) string {
	f := formatter{kindWidth: 16}
	for i := range events {
		f.event(&events[i])
	}
	return string(visible.Quoted(f.dst)) // only strings in double quotes have such characters
}

const placeWidth = 4

func (f *formatter) event(ev *Event) {
	from := len(f.dst)
	kind := kindOf(ev.Body)
	_, unknown := ev.Body.(Unknown)
	if isWord(string(kind)) && unknown != isKnown(kind) {
		f.dst = append(f.dst, f.name(string(kind))...)
	} else {
		f.quoted(string(kind))
	}
	f.pad(from, f.kindWidth)
	from = len(f.dst)
	f.place(ev, kind)
	f.pad(from, placeWidth)
	if ev.At != 0 {
		f.dst = append(append(f.dst, '@'), ev.At.String()...)
	}
	f.body(ev.Body)
	for f.dst[len(f.dst)-1] == ' ' {
		f.dst = f.dst[:len(f.dst)-1]
	}
	f.dst = append(f.dst, '\n')
}

// isKnown reports whether the codec has the kind.
func isKnown(kind Kind) bool { return newDecoder().readBody(kind) != nil }

// pad fills what was written since from to a width, with a space at least.
func (f *formatter) pad(from, width int) {
	f.dst = append(f.dst, ' ')
	for len(f.dst) < from+width {
		f.dst = append(f.dst, ' ')
	}
}

func (f *formatter) place(ev *Event, kind Kind) {
	other := !f.started || ev.Run != f.run
	if other {
		f.started, f.run, f.names = true, ev.Run, map[string]string{}
	}
	if other || ev.Step == NoStep {
		if isRunName(ev.Run) {
			f.dst = append(f.dst, ev.Run...)
		} else {
			f.quoted(ev.Run)
		}
	}
	if ev.Step != NoStep {
		if other {
			f.dst = append(f.dst, ':')
		}
		f.dst = strconv.AppendInt(f.dst, int64(ev.Step), 10)
	}
	if ev.Attempt != usualAttempt(kind) {
		f.dst = strconv.AppendInt(append(f.dst, '.'), int64(ev.Attempt), 10)
	}
	if ev.Purpose != PurposeAnswer {
		f.dst = append(f.dst, '/')
		f.bareOrQuoted(string(ev.Purpose))
	}
}

// usualAttempt is the attempt that the text form does not show.
func usualAttempt(kind Kind) int {
	switch kind {
	case KindModelConfig, KindModelRequest, KindModelDelta, KindModelResponse, KindModelError, KindModelRetry:
		return 1
	default:
		return 0
	}
}

// isRunName reports whether the name of a run is unquoted: a reader can confuse it neither with
// a step nor with the suffixes of the place.
func isRunName(s string) bool {
	return isWord(s) && !strings.Contains(s, ".") && !startsNumber(s[0])
}

func startsNumber(c byte) bool { return c == '-' || c >= '0' && c <= '9' }

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		isLetter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		return !isLetter && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.'
	})
}

// formatter writes the text form. Names holds the tool of each call of the run
// that the line is of.
type formatter struct {
	dst       []byte
	kindWidth int
	renamed   map[string]string // names of kinds and members in an earlier version
	started   bool
	run       string
	names     map[string]string
}

// sep appends a space where a token needs one before it.
func (f *formatter) sep() {
	if c := f.dst[len(f.dst)-1]; c != ' ' && c != '(' {
		f.dst = append(f.dst, ' ')
	}
}

func (f *formatter) name(name string) string {
	if was, ok := f.renamed[name]; ok {
		return was
	}
	return name
}

func (f *formatter) key(name string) {
	f.sep()
	f.dst = append(append(f.dst, f.name(name)...), '=')
}

func (f *formatter) bareOrQuoted(s string) {
	if isWord(s) {
		f.dst = append(f.dst, s...)
		return
	}
	f.quoted(s)
}

func (f *formatter) quoted(s string) {
	if utf8.ValidString(s) {
		f.dst = jsonio.AppendString(f.dst, s)
		return
	}
	f.base64([]byte(s))
}

func (f *formatter) base64(b []byte) {
	f.dst = base64.StdEncoding.AppendEncode(append(f.dst, `b64"`...), b)
	f.dst = append(f.dst, '"')
}

// Strings of the text form: a word is quoted only if it has other characters, quoted is always
// quoted, and a value, arguments or a result, is quoted unless it is compact JSON.
type (
	word   string
	quoted string
	value  string
)

func isCompact(s string) bool {
	return s != "" && (s[0] == '{' || s[0] == '[') && jsonio.ValidText(s) &&
		string(jsonio.AppendRaw(nil, []byte(s))) == s
}

// put appends tokens. A string is the key of the next one, which has the form key=value, or the
// key alone for true. Such a member is omitted if it is empty and no word.
func (f *formatter) put(tokens ...any) {
	for i := 0; i < len(tokens); i++ {
		key, isKey := tokens[i].(string)
		if isKey {
			i++
		}
		if !isKey || !isEmpty(tokens[i]) {
			f.token(key, tokens[i])
		}
	}
}

func isEmpty(token any) bool {
	switch v := token.(type) {
	case word:
		return false
	case []string:
		return len(v) == 0
	case llm.System:
		return len(v) == 0
	}
	return reflect.ValueOf(token).IsZero()
}

func (f *formatter) token(key string, token any) {
	switch {
	case token == true:
		f.sep()
		f.dst = append(f.dst, f.name(key)...)
	case key != "":
		f.key(key)
	default:
		f.sep()
	}
	switch v := token.(type) {
	case string:
		f.bareOrQuoted(v)
	case word:
		f.bareOrQuoted(string(v))
	case quoted:
		f.quoted(string(v))
	case value:
		if isCompact(string(v)) {
			f.dst = append(f.dst, v...)
		} else {
			f.quoted(string(v))
		}
	case int64:
		f.dst = strconv.AppendInt(f.dst, v, 10)
	case time.Duration:
		f.dst = append(f.dst, v.String()...)
	case json.RawMessage:
		f.dst = jsonio.AppendRaw(f.dst, v)
	case []byte:
		f.base64(v)
	case []string:
		for i, s := range v {
			if i > 0 {
				f.dst = append(f.dst, ',')
			}
			f.bareOrQuoted(s)
		}
	case llm.Usage:
		f.usage(v)
	case llm.System:
		f.system(v)
	}
}

// system appends the text of a system prompt. If it has marks, each part is a text of its own.
func (f *formatter) system(s llm.System) {
	if !slices.ContainsFunc(s, func(p llm.SystemPart) bool { return p.CacheMark }) {
		f.quoted(s.Text())
		return
	}
	for i, p := range s {
		if i > 0 {
			f.dst = append(f.dst, ',')
		}
		if f.quoted(p.Text); p.CacheMark {
			f.dst = append(f.dst, "(cache_mark)"...)
		}
	}
}

// usage appends input/output, and the other counts in parentheses.
func (f *formatter) usage(u llm.Usage) {
	f.dst = strconv.AppendInt(f.dst, u.InputTokens, 10)
	f.dst = strconv.AppendInt(append(f.dst, '/'), u.OutputTokens, 10)
	u.InputTokens, u.OutputTokens = 0, 0
	if u == (llm.Usage{}) {
		return
	}
	f.dst = append(f.dst, '(')
	f.put("cache_read_input_tokens", u.CacheReadInputTokens,
		"cache_creation_input_tokens", u.CacheCreationInputTokens,
		"reasoning_output_tokens", u.ReasoningOutputTokens)
	f.dst = append(f.dst, ')')
}
