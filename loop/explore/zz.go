package explore

func Labels(c *Choices) string    { return labels(taken(c.points)) }
func LineDiff(a, b string) string { return lineDiff(a, b) }
