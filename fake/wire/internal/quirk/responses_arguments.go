package quirk

import (
	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake/wire/internal/reply"
	"github.com/looptape/looptape/llm"
)

// responsesArgumentQuirks edit the arguments, which a stream contains up to four times.
var responsesArgumentQuirks = []Form{
	responses.inScript("QR-03", "incomplete", "the response is incomplete: its limit came within the arguments of the last call", truncateBy(llm.FinishLength)).and(edited(markTruncated)),
	responses.inScript("QR-03", "completed", "the response is completed, and truncated within the arguments of the last call", truncateBy(llm.FinishStop)).and(edited(markTruncated)),
	responses.inStream("QR-05", "delta", "the first delta of the arguments of each call is lost", func(r *reply.Reply) bool { return r.Edit(dropFirstDeltas()) }),
	responses.inStream("QR-05", "completed", "only the final output has truncated arguments", edited(truncateOutput)),
	responses.inStream("QR-05", "none", "a delta of the arguments is lost, and they are truncated in all other events", func(r *reply.Reply) bool {
		lose := dropFirstDeltas()
		return r.Edit(func(text string) string {
			switch typeOf(text) {
			case argsDelta:
				return lose(text)
			case argsDone:
				return truncateMember(text, "arguments")
			case itemDone:
				return truncateMember(text, "item.arguments")
			}
			return truncateOutput(text)
		})
	}),
	responses.inStream("QR-06", "arguments", "arguments come only in their own event", argumentsOnlyIn(argsDone, "arguments")),
	responses.inStream("QR-06", "item", "arguments come only with the end of their item", argumentsOnlyIn(itemDone, "item.arguments")),
}

func markTruncated(text string) string {
	return eachOutput(text, func(item string) string {
		if args := gjson.Get(item, "arguments"); !args.Exists() || isWhole(args.String()) {
			return item
		}
		return reply.Put(item, "status", `"incomplete"`)
	})
}

func dropFirstDeltas() func(text string) string {
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

func truncateOutput(text string) string {
	return eachOutput(text, func(item string) string { return truncateMember(item, "arguments") })
}

func truncateMember(text, path string) string {
	args := gjson.Get(text, path).String()
	if len(args) < 2 {
		return text
	}
	return reply.Put(text, path, reply.Quote(truncateArguments(args)))
}

// argumentsOnlyIn empties the arguments everywhere except in events of one type.
func argumentsOnlyIn(kind, path string) edit {
	return func(r *reply.Reply) bool {
		args, whose := map[string]bool{}, map[string]bool{}
		for _, f := range r.Frames {
			if f.At("type").String() == kind {
				args[f.At(path).String()] = true
				whose[f.At("output_index").Raw] = true
			}
		}
		empty := func(text, path string) string {
			if found := gjson.Get(text, path); !found.Exists() || !args[found.String()] {
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
			return eachOutput(text, func(item string) string { return empty(item, "arguments") })
		})
	}
}
