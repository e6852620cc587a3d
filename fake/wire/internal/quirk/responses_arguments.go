package quirk

import (
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// responsesArgsQuirks are about the arguments of calls, which come up to four times.
var responsesArgsQuirks = []Form{
	{
		Info:   onResponses("QR-03", "incomplete", "the response is incomplete: its limit came within the arguments of the last call"),
		script: func(_ *reply.Response, t *fake.Response) bool { return cutBy(llm.FinishLength, t) },
		edit:   func(_ *reply.Response, r *reply.Reply) bool { return r.Edit(cutItems) },
	},
	{
		Info:   onResponses("QR-03", "completed", "the response is completed, and yet it was cut within the arguments of the last call"),
		script: func(_ *reply.Response, t *fake.Response) bool { return cutBy(llm.FinishStop, t) },
		edit:   func(_ *reply.Response, r *reply.Reply) bool { return r.Edit(cutItems) },
	},
	inEvents("QR-05", "delta", "the first delta of the arguments of each call is lost", func(r *reply.Reply) bool { return r.Edit(firstDeltas()) }),
	inEvents("QR-05", "completed", "the arguments are cut in the output at the end, and nowhere else", func(r *reply.Reply) bool {
		return r.Edit(cutOutput)
	}),
	inEvents("QR-05", "none", "a delta of the arguments is lost, and they are cut wherever they come as one", func(r *reply.Reply) bool {
		lose := firstDeltas()
		return r.Edit(func(text string) string {
			switch typeOf(text) {
			case argsDelta:
				return lose(text)
			case argsDone:
				return cutMember(text, "arguments")
			case itemDone:
				return cutMember(text, "item.arguments")
			}
			return cutOutput(text)
		})
	}),
	inEvents("QR-06", "arguments", "arguments come in their own event alone, and in no deltas", func(r *reply.Reply) bool {
		return tellOnce(r, argsDone, "arguments")
	}),
	inEvents("QR-06", "item", "arguments come with the end of their item alone, and in no deltas", func(r *reply.Reply) bool {
		return tellOnce(r, itemDone, "item.arguments")
	}),
}

// cutItems marks the calls in an output that are cut.
func cutItems(text string) string {
	return eachOutput(text, func(item string) string {
		if args := gjson.Get(item, "arguments"); !args.Exists() || isWhole(args.String()) {
			return item
		}
		return reply.Put(item, "status", `"incomplete"`)
	})
}

// firstDeltas takes the first delta of each call out.
func firstDeltas() func(text string) string {
	seen := map[string]bool{}
	return func(text string) string {
		index := gjson.Get(text, "output_index").Raw
		if typeOf(text) != argsDelta || seen[index] {
			return text
		}
		seen[index] = true
		return ""
	}
}

// cutOutput cuts the arguments in the output at the end.
func cutOutput(text string) string {
	return eachOutput(text, func(item string) string { return cutMember(item, "arguments") })
}

// cutMember cuts arguments near their end.
func cutMember(text, path string) string {
	args := gjson.Get(text, path).String()
	if len(args) < 2 {
		return text
	}
	return reply.Put(text, path, reply.Quote(cutArgs(args)))
}

// tellOnce leaves arguments that events of one type tell out wherever else they are
// told.
func tellOnce(r *reply.Reply, kind, path string) bool {
	told, whose := map[string]bool{}, map[string]bool{}
	for _, f := range r.Frames {
		if text := string(f.Data); typeOf(text) == kind {
			told[gjson.Get(text, path).String()] = true
			whose[gjson.Get(text, "output_index").Raw] = true
		}
	}
	empty := func(text, path string) string {
		if !told[gjson.Get(text, path).String()] {
			return text
		}
		return reply.Put(text, path, `""`)
	}
	return r.Edit(func(text string) string {
		switch of := typeOf(text); {
		case of == kind:
			return text
		case of == itemDone && ofCall(text):
			return empty(text, "item.arguments")
		case (of == argsDelta || of == argsDone) && whose[gjson.Get(text, "output_index").Raw]:
			return ""
		}
		return eachOutput(text, func(item string) string {
			if !gjson.Get(item, "arguments").Exists() {
				return item
			}
			return empty(item, "arguments")
		})
	})
}
