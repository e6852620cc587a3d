package importer

import (
	"encoding/json"
	"fmt"

	"github.com/looptape/looptape/trace"
)

// Naming tells where recordings say which runs theirs are, as JSON pointers (RFC 6901)
// into [Run.Meta], such as /info/task, or of a trace into the data of its custom events, by
// their names: /task/id is the member id of the last event task. "" leaves what is found
// without it.
type Naming struct{ Case, Epoch, Cluster string }

// Name sets the case, the epoch and the cluster of a run; nil leaves them. The error, after which the run
// is of no use, is for a pointer that is none, a run that says nothing there, and an epoch
// that is no whole number from 0 up.
func (n *Naming) Name(run *Run) error {
	if n == nil {
		return nil
	}
	for _, field := range []struct {
		what, text string
		to         *string
	}{{"case", n.Case, &run.Case}, {"cluster", n.Cluster, &run.Cluster}} {
		if field.text == "" {
			continue
		}
		raw, err := run.at(field.what, field.text)
		if err != nil {
			return err
		}
		*field.to = asText(raw)
	}
	if n.Epoch == "" {
		return nil
	}
	raw, err := run.at("epoch", n.Epoch)
	if err != nil {
		return err
	}
	if run.Epoch = epochOf(raw); run.Epoch == NoEpoch {
		return fmt.Errorf("the epoch at %s is no whole number from 0 up", n.Epoch)
	}
	return nil
}

// at is what the recording says of a run at a JSON pointer.
func (r *Run) at(what, text string) ([]byte, error) {
	p, err := parsePointer(what, text)
	if err != nil {
		return nil, err
	}
	if raw := p.in(r.said()); raw != nil {
		return raw, nil
	}
	err = fmt.Errorf("the run %q has no %s at %s", r.Name, what, text)
	if len(r.Events) > 0 {
		err = fmt.Errorf("%w, which of a trace begins with the name of a custom event", err)
	}
	return nil, err
}

// said is what the recording says of a run beside what happened in it.
func (r *Run) said() map[string]json.RawMessage {
	if len(r.Events) == 0 {
		return r.Meta
	}
	said := map[string]json.RawMessage{}
	for _, ev := range r.Events {
		if custom, ok := ev.Body.(trace.Custom); ok {
			said[custom.Name] = custom.Data
		}
	}
	return said
}
