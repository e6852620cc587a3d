package loop

// runUnseen runs calls at the same time where nothing is to be done before the last
// of them has ended: nobody looks on, and no tool may be abandoned. The run is then
// woken once.
func (b *batch) runUnseen(todo []*planned) {
	b.jobs = b.jobs[:0]
	for _, p := range todo {
		if p.job == nil {
			p.job = func() { b.workUnseen(p) }
		}
		b.jobs = append(b.jobs, p.job)
	}
	b.left.Add(len(todo))
	b.run.crew.Go(b.jobs...)
	b.left.Wait()
	for _, p := range todo {
		switch {
		case !p.ran:
			b.run.skipCancelled(p)
		case p.outcome == "":
			p.outcome, *p.result = p.exited()
		}
	}
}

// workUnseen runs one call on its own goroutine, unless the run's context has ended.
func (b *batch) workUnseen(p *planned) {
	defer b.left.Done()
	if b.run.over() {
		return
	}
	p.ran = true
	p.outcome, *p.result = b.run.execute1(b.run.ctx, p)
}
