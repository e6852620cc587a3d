package wire

import (
	"slices"

	"github.com/tidwall/gjson"

	"github.com/looptape/looptape/fake"
	"github.com/looptape/looptape/llm"
)

// at returns what stands at a path of the frame's JSON.
func (f frame) at(path string) gjson.Result { return gjson.GetBytes(f.data, path) }

// put sets what stands at a path of the frame's JSON.
func (f *frame) put(path, value string) { f.data = []byte(put(string(f.data), path, value)) }

// omit takes the frames out for which f holds, and reports whether there are any.
func (r *reply) omit(f func(frame) bool) bool {
	n := len(r.frames)
	r.frames = slices.DeleteFunc(r.frames, f)
	return len(r.frames) < n
}

// spread puts frames in the place of each one, and reports whether they are more.
func (r *reply) spread(f func(frame) []frame) bool {
	n := len(r.frames)
	var out []frame
	for _, x := range r.frames {
		out = append(out, f(x)...)
	}
	r.frames = out
	return len(out) > n
}

// called returns the last message of the request that has calls, and their ids; -1
// if there is none.
func (p *play) called() (at int, ids []string) {
	list := p.request.Messages
	for i := len(list) - 1; i >= 0; i-- {
		for _, c := range list[i].Calls() {
			ids = append(ids, c.ID)
		}
		if ids != nil {
			return i, ids
		}
	}
	return -1, nil
}

// eachCall gives a turn other calls, each changed by f.
func eachCall(t *fake.Response, f func(i int, c *fake.Call)) bool {
	t.Calls = slices.Clone(t.Calls)
	for i := range t.Calls {
		f(i, &t.Calls[i])
	}
	return len(t.Calls) > 0
}

// silence takes all away that a model says in a turn, but for its usage.
func silence(t *fake.Response) {
	*t = fake.Response{
		Delay: t.Delay, EventInterval: t.EventInterval, Usage: t.Usage, ResponseID: t.ResponseID, Model: t.Model,
		FinishReason: llm.FinishStop, Error: t.Error, Err: t.Err, Stall: t.Stall,
	}
}
