package trace

import (
	"strings"

	"github.com/looptape/looptape/internal/jsonio"
	"github.com/looptape/looptape/llm"
)

// ParseText reads the text form that AppendText writes. Empty lines and lines
// that begin with # are passed over. Seq counts the events of each run. The
// error is a *TextError, and then the events are those of the lines before it.
func ParseText(src string) ([]Event, error) {
	p := parser{seqs: map[string]int{}, names: map[string]string{}}
	var events []Event
	n := 0
	for line := range strings.Lines(src) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		ev, err := p.event(line)
		if err != nil {
			err.Line = n
			return events, err
		}
		events = append(events, ev)
	}
	return events, nil
}

// parser reads lines; what it remembers is what a formatter does.
type parser struct {
	scanner
	seqs    map[string]int
	started bool
	run     string
	names   map[string]string
}

func (p *parser) event(line string) (Event, *TextError) {
	p.scanner = scanner{s: line}
	if i := invalidAt([]byte(line)); i < len(line) {
		p.fail(i, "the text is not UTF-8")
	}
	quoted := p.isQuoted()
	kind := Kind(p.text())
	ev := Event{Step: NoStep, Attempt: usualAttempt(kind)}
	p.place(&ev)
	if p.peek() == '@' {
		p.i++
		ev.At = p.duration()
	}
	if quoted || !isKnown(kind) {
		ev.Body = p.unknown(kind)
	} else {
		ev.Body = p.body(kind)
	}
	p.end()
	if p.err != nil {
		return Event{}, p.err
	}
	ev.Seq = p.seqs[ev.Run]
	p.seqs[ev.Run]++
	return ev, nil
}

func (p *parser) place(ev *Event) {
	named := !startsNumber(p.peek())
	if named {
		if run := p.runName(); !p.started || run != p.run {
			p.started, p.run, p.names = true, run, map[string]string{}
		}
	} else if !p.started {
		p.fail(p.i, "expected the name of a run: the first line says which run it is of, as in r1 or r1:0")
	}
	ev.Run = p.run
	if !named || p.accept(':') {
		ev.Step = p.int()
	}
	if p.accept('.') {
		ev.Attempt = p.int()
	}
	if p.accept('/') {
		ev.Purpose = Purpose(p.text())
	}
}

// runName reads a run's name, which ends before a dot if it is bare.
func (p *parser) runName() string {
	name, _, _ := strings.Cut(p.bare(), ".")
	if name == "" {
		return p.text()
	}
	p.i += len(name)
	return name
}

func (p *parser) unknown(kind Kind) Body {
	raw := p.raw()
	if p.err == nil && raw[0] != '{' {
		p.fail(p.i-len(raw), "expected an object, all that is known of an event of the kind %s", kind)
	}
	return Unknown{Name: kind, Raw: raw}
}

func (p *parser) body(kind Kind) Body {
	switch kind {
	case KindRunStart:
		return p.runStart()
	case KindModelConfig:
		return p.modelSetup()
	case KindModelRequest:
		var b ModelRequest
		p.members(func(name string) bool {
			if name == "kept=" {
				b.PrefixMessages = p.int()
			}
			return name == "kept="
		})
		b.NewMessages = p.messages()
		return b
	case KindModelDelta:
		return p.modelDelta()
	case KindModelResponse:
		return p.modelTurn()
	case KindModelError:
		return p.modelError()
	case KindDecision:
		return p.decision()
	case KindToolArguments:
		return ToolArguments{ToolCallID: p.text(), Arguments: p.value(), Reason: p.text()}
	case KindToolStart:
		b := ToolStart{ToolCallID: p.text(), Name: p.text(), Arguments: p.value()}
		p.names[b.ToolCallID] = b.Name
		return b
	case KindToolEnd:
		b := ToolEnd{ToolCallID: p.text(), Outcome: Outcome(p.text())}
		b.Result = p.outcome(b.ToolCallID)
		return b
	case KindToolSkip:
		b := ToolSkip{ToolCallID: p.text(), Name: p.text(), Reason: p.text()}
		p.names[b.ToolCallID] = b.Name
		b.Result = p.outcome(b.ToolCallID)
		return b
	case KindRunEnd:
		return p.runEnd()
	case KindStepStart:
		return StepStart{}
	case KindStepEnd:
		return StepEnd{}
	default:
		return p.small(kind)
	}
}

// small reads the bodies that are a word or two.
func (p *parser) small(kind Kind) Body {
	switch kind {
	case KindModelRetry:
		b := ModelRetry{Reason: p.text()}
		p.members(func(name string) bool {
			if name == "wait=" {
				b.Wait = p.duration()
			}
			return name == "wait="
		})
		return b
	case KindAbandoned:
		return Abandoned{ToolCallID: p.text()}
	case KindHistoryRewrite:
		b := HistoryRewrite{Reason: p.text()}
		p.texts(map[string]*string{"by=": &b.By})
		return b
	case KindCanceled:
		return Canceled{Reason: p.text()}
	case KindSuspended:
		var b Suspended
		p.members(func(name string) bool {
			switch name {
			case "pending=":
				b.Pending = p.words()
			case "digest=":
				b.Digest = p.text()
			default:
				return false
			}
			return true
		})
		return b
	case KindResumed:
		return Resumed{Of: p.text()}
	case KindWarning:
		b := Warning{Code: p.text(), Message: p.text()}
		p.texts(map[string]*string{"call=": &b.ToolCallID})
		return b
	default: // custom
	}
	b := Custom{Name: p.text()}
	if p.peek() != 0 {
		b.Data = p.raw()
	}
	return b
}

// texts reads members that are texts.
func (p *parser) texts(to map[string]*string) {
	p.members(func(name string) bool {
		v, ok := to[name]
		if ok {
			*v = p.text()
		}
		return ok
	})
}

func (p *parser) runStart() Body {
	var b RunStart
	for p.peek() != 0 {
		quoted := p.isQuoted()
		name := p.text()
		p.expect('=')
		switch {
		case quoted:
			b.Options = append(b.Options, Option{name, p.text()})
		case name == memberParent:
			b.Parent = &Parent{Run: p.text()}
			p.expect('/')
			b.Parent.ToolCallID = p.text()
		case name == memberClock:
			b.Clock = p.text()
		case name == memberTools:
			b.Tools = p.toolInfos()
		case name == memberSuppress:
			d := jsonio.NewDec(string(p.raw()))
			at := p.i
			b.Suppress = readMap(&d)
			if err := d.Err(); err != nil {
				p.fail(at, "suppress: %v", err)
			}
		default:
			b.Options = append(b.Options, Option{name, p.text()})
		}
	}
	return b
}

func (p *parser) toolInfos() []ToolInfo {
	var list []ToolInfo
	for {
		t := ToolInfo{Name: p.text()}
		if p.accept('(') {
			if p.bare() != "client" {
				p.fail(p.i, "expected client")
				return nil
			}
			p.text()
			p.expect(')')
			t.Client = true
		}
		list = append(list, t)
		if !p.accept(',') {
			return list
		}
	}
}

func (p *parser) modelSetup() Body {
	var b ModelConfig
	p.members(func(name string) bool {
		switch name {
		case "model=":
			b.Model = p.text()
		case "system=":
			b.System = p.text()
		case "choice=":
			at := p.i
			var ok bool
			if b.ToolChoice, ok = llm.ReadToolChoice(p.text()); !ok {
				p.fail(at, "expected auto, required, none or \"tool:NAME\"")
			}
		case "settings=":
			at := p.i
			if err := b.Settings.UnmarshalJSON(p.raw()); err != nil {
				p.fail(at, "%v", err)
			}
		case "extra=":
			d := jsonio.NewDec(string(p.raw()))
			at := p.i
			b.Extra = readExtra(&d)
			if err := d.Err(); err != nil {
				p.fail(at, "extra: %v", err)
			}
		case "tool":
			b.Tools = append(b.Tools, p.tool())
		default:
			return false
		}
		return true
	})
	return b
}

func (p *parser) tool() llm.Tool {
	t := llm.Tool{Name: p.text()}
	for p.atKey() {
		p.member(func(name string) bool {
			switch name {
			case "description=":
				t.Description = p.text()
			case "strict=":
				t.Strict = new(p.truth())
			case "parameters=":
				t.Parameters = p.raw()
			default:
				return false
			}
			return true
		})
	}
	if p.peek() == '{' {
		t.Parameters = p.raw()
	}
	return t
}
