package redact

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// labeled returns the values that words of text, Markdown, HTML or a command line name as secrets: in
// quotes after the name, in the next cell of a table, after a name in bold, in an input or meta element,
// after a flag, in code, and where a command or a file format has a password. Since such names also occur in other text, only a value that can be a secret counts.
func (o *Rules) labeled(text string) (parts []part) {
	addUpTo := func(most secrecy, name string, from, to int) {
		if s := min(o.secrecy(kindBody, name), most); s >= min(secretIfStrong, most) && s.covers(text[from:to]) && !isLabel(text[from:to]) {
			parts = append(parts, part{from: from, to: to})
		}
	}
	add := func(name string, from, to int) { addUpTo(secretIfLikely, name, from, to) }
	names := o.namesIn(text)
	near, whole, signs := o.nearNames(text, names), []part{{to: len(text)}}, signsIn(text)
	for i := range labels {
		l, within := &labels[i], near
		if !signs[i] {
			continue
		}
		if !l.isNamed() {
			within = whole
		}
		for _, w := range within {
			for name, p := range l.values(text[w.from:w.to]) {
				add(name, w.from+p.from, w.from+p.to)
			}
		}
	}
	if len(names) > 0 {
		columns(text, names, add)
		insertRows(text, add)
	}
	if strings.Contains(text, "://") || strings.HasPrefix(text, "/") {
		for from := range stemWords(text) {
			if at := pathSegment.FindStringSubmatchIndex(text[max(0, from-1):]); at != nil {
				addUpTo(secretIfRandom, text[from:from+at[3]-at[2]], from-1+at[4], from-1+at[5])
			}
		}
	}
	for at := 0; ; {
		i := strings.IndexAny(text[at:], "'\"`|")
		if i < 0 {
			break
		}
		at += i + 1
		if from, to, name := quotedValue(text, at-1); name != "" {
			add(name, from, to)
		}
	}
	if strings.Contains(text, "<") {
		for _, at := range tag.FindAllStringIndex(text, -1) {
			if name, from, to := field(text[at[0]:at[1]]); name != "" {
				add(name, at[0]+from, at[0]+to)
			}
		}
	}
	return parts
}

// label is a pattern for a value, which is its last group. The name is the first group if there is no
// fixed one. Each match contains one of the signs.
type label struct {
	signs   []string
	name    string // optionName means that the first group is the name of an option or setting
	pattern *regexp.Regexp
}

const (
	optionName   = "option_"
	signingKeyID = "user.signingkey" // a setting of git
)

// isNamed reports whether the name is in the text.
func (l *label) isNamed() bool { return l.name == "" || l.name == optionName }

// values yields the names and values that match in text.
func (l *label) values(text string) iter.Seq2[string, part] {
	return func(yield func(string, part) bool) {
		if !slices.ContainsFunc(l.signs, func(sign string) bool { return strings.Contains(text, sign) }) {
			return
		}
		for _, at := range l.pattern.FindAllStringSubmatchIndex(text, -1) {
			name, all := l.name, []part{{}}
			from, to := at[len(at)-2], at[len(at)-1]
			switch all[0].to = to - from; name {
			case "", optionName:
				if text[at[2]:at[3]] == signingKeyID {
					continue
				}
				name += lastWords(strings.TrimSuffix(strings.TrimRight(text[at[2]:at[3]], " "), " is"))
			case "cookie":
				all = cookies(text[from:to])
			}
			for _, p := range all {
				if !yield(name, part{from: from + p.from, to: from + p.to}) {
					return
				}
			}
		}
	}
}

var labels = []label{
	{[]string{"**"}, "", regexp.MustCompile("\\*\\*([A-Za-z][\\w -]{1,40}):?\\*\\*:? +`?([^\\s`|]+)")},
	{[]string{" provided: "}, "", regexp.MustCompile(`([A-Za-z][\w -]{1,40}) provided: ([^\s"']*[^\s"'.,;])`)},
	{[]string{"--", " -", "\n-", "\t-", "\"-", "'-", "`-"}, optionName, regexp.MustCompile(`(?:^|[^\w-])--?([A-Za-z][\w.-]{1,40})(?: +|=)\\*["']?([^\s"'\\<>=-][^\s"'\\<>]*)`)},
	{[]string{"<t"}, "", regexp.MustCompile(`<t[dh][^<>]*>\s*([A-Za-z][\w -]{1,40}):?\s*</t[dh]>\s*<td[^<>]*>\s*(?:<code>)?([^\s<>]+)`)},
	// Code: apiKey := "VALUE", 'password' => 'VALUE', and values in backquotes.
	{[]string{":=", "=>", "= `", "=`", ": `"}, "", regexp.MustCompile("([\\w-]+)[\"'\\]\\\\]*\\s*(?:(?::=|=>)\\s*\\\\*[\"'`]|[=:]\\s*`)([^\"'`\\\\\n]+)")},
	// Code: define('DB_PASSWORD', 'VALUE'), setProperty("password", "VALUE").
	{[]string{`("`, `('`, `( "`, `( '`, `(\"`}, "", regexp.MustCompile(`\(\s*\\*["']([\w.-]+)\\*["']\s*,\s*\\*["']([^"'\\\n]+)`)},
	// Code: strings with a prefix or in a constructor, fallbacks and comparisons.
	{[]string{"||", "??", "?:", "==", "!=", `""`, `b'`, `b"`, `r'`, `r"`, `N'`, `u'`, `u"`, `f'`, `f"`, `@"`, `("`, `('`, `(\"`, ": !", ": &"}, "", regexp.MustCompile("([\\w-]+)[\"'\\]\\\\)]*\\s*(?:[=:]\\s*(?:(?:[A-Z]\\w{1,30}(?:::\\w+)?|crypt|md5|sha\\d|password)\\(|[bBrRuUfFN@]{1,2}|(?:![\\w!]+|&\\w+) |\"\")|(?:\\|\\||\\?\\?|\\?:)=?\\s*|[!=]==?\\s*)\\\\*[\"'`]([^\"'`\\\\\\n]+)")},
	// Code: setPassword("VALUE"), .apiKey("VALUE").
	{[]string{`("`, `('`, `(\"`}, "", regexp.MustCompile(`(?:\.|[sS]et_?|[wW]ith_?)([pP]ass[A-Za-z]*|[sS]ecret[A-Za-z]*|[aA]pi_?[kK]ey|[a-zA-Z]*[tT]oken)\(\\*["']([^"'\\\n]+)`)},
	{[]string{"SecureString"}, "password", regexp.MustCompile(`ConvertTo-SecureString +(?:-String +)?\\*["']([^"'\\\n]+)`)},
	// The members name and value in YAML, in truncated JSON and of elements.
	{[]string{"alue"}, "", regexp.MustCompile(`\b(?:[nN]ame|[kK]ey)\\*["']?[ \t]*[:=]\s*\\*["']?([\w.-]+)\\*["']?,?(?:\\[nr]|\s)*\\*["']?\b[vV]alue\\*["']?[ \t]*[:=]\s*\\*["']?([^\s"'\\,}]+)`)},
	// Elements with the name in an attribute, CDATA, and a value after an element with the name.
	{[]string{"</"}, "", regexp.MustCompile(`<[\w:.-]+\s[^<>]*?\b(?:name|key|id)\s*=\s*\\*["']([\w.-]+)\\*["'][^<>]*>\s*(?:<value>)?([^<>\s]+)\s*</`)},
	{[]string{"<![CDATA["}, "", regexp.MustCompile(`<([\w.:-]+)[^<>]*>\s*<!\[CDATA\[\s*([^\]\s]+)`)},
	{[]string{"</"}, "", regexp.MustCompile(`>\s*([A-Za-z][\w -]{1,40}):?\s*</(?:b|strong|dt|label|span|key|em|th|td)>:?\s*(?:<(?:dd|td|code|span|string|b|pre|kbd)\b[^<>]*>\s*)*([^\s<>]+)`)},
	{[]string{"<b>", "<strong>", "<code>", "<em>", "<kbd>", "<tt>", "<pre>", "<span>"}, "", regexp.MustCompile(`([A-Za-z][\w -]{1,40}):?\s*<(?:b|strong|code|em|kbd|tt|pre|span)>\s*([^\s<>]+)\s*</`)},
	{[]string{"PASSWORD", "password"}, "password", regexp.MustCompile(`(?i)\bset\s+password\s+for\s+\S+\s*=\s*(?:password\()?\\*["']([^\s"'\\]+)`)},
	// Code with types: let api_key: &str = "VALUE", var apiKey string = "VALUE".
	{[]string{` = "`, ` = '`, ` = \"`, " = `"}, "", regexp.MustCompile("([A-Za-z_]\\w*)(?:\\??:\\s*[&'\\w<>\\[\\]|]{1,30}| string)\\s*=\\s*\\\\*[\"'`]([^\"'`\\\\\n]+)")},
	// Blocks of YAML.
	{[]string{": |", ": >"}, "", regexp.MustCompile(`([\w.-]+):[ \t]*[|>][+-]?[ \t]*(?:\r?\n|\\n)\s+([^\s\\]+)`)},
	// Cookies in the headers of a text.
	{[]string{"ookie: "}, "cookie", regexp.MustCompile(`\b[Cc]ookie: *([^"'\\\r\n]+)`)},
	// Shells and Docker files.
	{[]string{"ENV ", "setx ", "set -", "setenv "}, "", regexp.MustCompile(`(?:^|[\s;&"'` + "`" + `]|\\n)(?:ENV|setx(?: +/\w)?|set +-\w*x\w*|setenv) +([A-Za-z_]\w*) +` + labeledValue)},
	// netrc, in one line or in several.
	{[]string{"password"}, "password", regexp.MustCompile(`\b(?:machine|login|account)` + labelGap + `\S+` + labelGap + `password` + labelGap + labeledValue)},
	// pgpass: host, port, database, user and password.
	{[]string{":5432:", ":5433:", ":6432:", ":*:"}, "password", regexp.MustCompile(`(?m)^(?:[\w.-]*[A-Za-z][\w.-]*|[\d.]+|\*):(?:\d{4,5}|\*):(?:[A-Za-z_][\w-]*|\*):(?:[A-Za-z_][\w.-]*|\*):([^\s:"']+)$`)},
	// Data sources: ann:VALUE@tcp(host:3306)/name, jdbc:oracle:thin:ann/VALUE@host.
	{[]string{"@tcp(", "@unix("}, "password", regexp.MustCompile(`[\w.-]+:([^\s"'` + "`" + `]+)@(?:tcp|unix)\(`)},
	{[]string{"jdbc:oracle:"}, "password", regexp.MustCompile(`jdbc:oracle:\w+:[^/\s"']+/([^\s"'` + "`" + `]+)@`)},
	// SQL.
	{[]string{"IDENTIFIED", "identified"}, "password", regexp.MustCompile(`(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+\\*["']([^\s"'\\]+)`)},
	{[]string{"IDENTIFIED", "identified"}, "password", regexp.MustCompile(`(?i)\b(?:user|role)\s+\S+\s+identified\s+by\s+([^\s"'\\;]+)`)},
	// Bundler: https://bundler.io/v2.7/man/bundle-config.1.html#CREDENTIALS-FOR-GEM-SOURCES
	{[]string{"BUNDLE_"}, "password", regexp.MustCompile(`BUNDLE_[A-Z0-9_]+__[A-Z]+\\*["']?\s*[:=]\s*\\*["']?([^\s"':\\]+:[^\s"'\\]+)`)},
	// Commands that have the value in an option, after other arguments or before a pipe.
	{[]string{"curl", "http ", "https "}, "password", commandOption(`curl|https?`, `(?:-[uUa]|--(?:proxy-)?user|--auth)[ =]*\\*["']?[^\s"':]+["']?:["']?([^\s"'\\]+)`)},
	{[]string{"curl"}, "cookie", commandOption(`curl`, `(?:-b|--cookie)[ =]*\\*["']?([^"'\\\n]+=[^"'\\\s]+)`)},
	{[]string{"mysql", "mariadb"}, "password", commandOption(`mysql\w*|mariadb[\w-]*`, `(?:-p|password +)`+labeledValue)},
	{[]string{" login", "mongo", "twine", "useradd", "psexec"}, "password", commandOption(`(?:docker|podman|helm registry|az) login|mongo\w*|twine upload|useradd|psexec`, `(?:-p|--password)[ =]*`+labeledValue)},
	{[]string{"redis-cli"}, "password", commandOption(`redis-cli`, `-a +`+labeledValue)},
	{[]string{"sshpass"}, "password", commandOption(`sshpass`, `-p *`+labeledValue)},
	{[]string{"zip -", "zip --", "sqlcmd", "bcp "}, "password", commandOption(`(?:un)?zip|sqlcmd|bcp`, `-P *`+labeledValue)},
	{[]string{"7z", "rar "}, "password", commandOption(`7z\w?|rar`, `-h?p`+labeledValue)},
	{[]string{"ssh-keygen", "openssl"}, "password", commandOption(`ssh-keygen|openssl enc`, `-[Nk] +`+labeledValue)},
	{[]string{"lftp", "smbclient"}, "password", commandOption(`lftp|smbclient`, `-[uU] +[^\s,%]+[,%]`+labeledValue)},
	{[]string{"gh secret set"}, "password", commandOption(`gh secret set`, `(?:-b|--body)[ =]`+labeledValue)},
	{[]string{"sqlplus"}, "password", regexp.MustCompile(`\bsqlplus +(?:-\w+ +)*[^\s/]+/([^\s@"']+)`)},
	{[]string{"vault login ", "cargo login ", "pypi-token.", "http-basic.", "wpa_passphrase ", "requirepass ", "masterauth "}, "password", regexp.MustCompile(`\b(?:(?:vault|cargo) login|pypi-token\.\S+|http-basic\.\S+ +\S+|wpa_passphrase +\S+|requirepass|masterauth) +` + labeledValue)},
	{[]string{"htpasswd -"}, "password", regexp.MustCompile(`\bhtpasswd +-\w*b\w*(?: +\S+){1,2} +` + labeledValue)},
	{[]string{"-stdin", "--stdin", "--with-token", "chpasswd"}, "password", regexp.MustCompile(`\b(?:echo|printf)(?: +-\w+)* +\\*["']?(?:[^\s"'|:]+:)?([^\s"'\\|]+)\\*["']? *\|[^\n|]*(?:\w-stdin\b|\bpasswd +[^\n|]*--stdin\b|--with-token|chpasswd)`)},
	{[]string{"config", "CONFIG SET", "user-secrets"}, optionName, regexp.MustCompile(`\b(?:config(?:ure)?|CONFIG|user-secrets)(?: +(?:set|SET|--\w+))* +["']?([\w./:-]+)["']? +` + labeledValue)},
}

// maxLabels is at least the number of labels.
const maxLabels = 64

// signsIn reports which labels have a sign in text.
func signsIn(text string) (found [maxLabels]bool) {
	for i := range len(text) - 1 {
		for _, s := range labelSigns[pairOf(text[i:])] {
			if !found[s.label] && strings.HasPrefix(text[i:], s.text) {
				found[s.label] = true
			}
		}
	}
	return found
}

type labelSign struct {
	text  string
	label int
}

// labelSigns are the signs of all labels, by their first two bytes.
var labelSigns = func() (by [1 << 10][]labelSign) {
	for i, l := range labels {
		for _, sign := range l.signs {
			by[pairOf(sign)] = append(by[pairOf(sign)], labelSign{sign, i})
		}
	}
	return by
}()

// pathSegment matches the segment after a name in the path of a URL: /token/VALUE. Paths of files have ordinary
// words there.
var pathSegment = regexp.MustCompile(`^/((?:[\w-]*[-_])?(?i:\w*token|\w*secret|\w*password|\w*key|\w*credential))s?/([\w~+=-]{12,})(?:[/?#\s"'<>)\\]|$)`)

const (
	labelGap     = `(?:\s|\\[nrt])+`
	labeledValue = `\\*["']?([^\s"'\\]+)`
)

// commandOption returns the pattern of an option of these commands.
func commandOption(commands, option string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + commands + `)(?:\b|$)(?:[^\n;|]|\\\n)*?\s` + option)
}

// quotedValue returns the value after a quote or the start of a cell at this place of text, and the
// name before it: password 'VALUE', API key: `VALUE`, or | password | VALUE |.
func quotedValue(text string, at int) (from, to int, name string) {
	line := text[max(0, at-maxName):at]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	from = at + 1
	rest := text[from:min(len(text), from+maxQuoted)]
	if text[at] == '|' {
		cell := strings.TrimLeft(rest, " `")
		from += len(rest) - len(cell)
		name, _, _ = strings.Cut(strings.TrimSpace(line[strings.LastIndexByte(line, '|')+1:]), "\n")
		name = strings.Trim(name, "*_`: ")
		if to = strings.IndexAny(cell, " `|\n"); to < 0 || !strings.Contains(line, "|") {
			return 0, 0, ""
		}
		return from, from + to, lastWords(name)
	}
	if to = strings.IndexByte(rest, text[at]); to < 0 || !strings.HasSuffix(line, " ") {
		return 0, 0, ""
	}
	if strings.EqualFold(lastWords(line), "pass") && isArgument(rest[:to], rest[to+1:]) {
		return 0, 0, ""
	}
	line = strings.TrimRight(line, ": ")
	for _, verb := range []string{" is", " was", " provided"} {
		line = strings.TrimSuffix(line, verb)
	}
	return from, from + to, lastWords(line)
}

const maxQuoted = 256

// isArgument reports whether a value in quotes after the verb pass is an argument, as in "pass `n=3` to the function".
func isArgument(value, rest string) bool {
	return strings.Contains(value, "=") || strings.HasPrefix(value, "-") || argumentEnd.MatchString(rest)
}

var argumentEnd = regexp.MustCompile(`^,? (?:to|as|for|in|into|when|if|instead|explicitly|and|or)\b`)

// lastWords returns the last word of text, or the last two if the first of them says what the second is
// for, as in API key and public key.
func lastWords(text string) string {
	before, name := cutWord(text)
	_, owner := cutWord(before)
	for _, words := range [][]string{keyOwners, harmlessOwners} {
		if slices.Contains(words, strings.ToLower(owner)) {
			return owner + "_" + name
		}
	}
	if owner = strings.ToLower(owner); strings.EqualFold(name, "code") && slices.Contains(codeOwners, owner) || strings.EqualFold(name, "key") && slices.Contains(passwordWords, owner) {
		return owner + "_" + name
	}
	return name
}

// cutWord returns the last word of text, and what precedes it.
func cutWord(text string) (before, word string) {
	text = strings.TrimRight(text, " ")
	from := len(text)
	for from > 0 && isNameByte(text[from-1]) {
		from--
	}
	return text[:from], text[from:]
}

// isLabel reports whether a value is the name of a secret, such as AWS_S3_SECRET.
func isLabel(value string) bool {
	return strings.Trim(value, nameSigns) == "" && strings.ContainsAny(value, "-_") && hasStem(plainName(value)) && !looksRandom(value)
}

const nameSigns = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

var (
	tag       = regexp.MustCompile(`<(?i:input|meta|add|property)\s[^<>]+`)
	attribute = regexp.MustCompile(`(?i)\s(name|id|key|type|value|content)\s*=\s*\\*(?:"([^"\\]*)|'([^'\\]*)|([^\s"'\\>]+))`)
)

// field returns the name and the value of an input or meta element.
func field(element string) (name string, from, to int) {
	for _, at := range attribute.FindAllStringSubmatchIndex(element, -1) {
		group := 4
		for at[group] < 0 {
			group += 2
		}
		said := element[at[group]:at[group+1]]
		switch key := strings.ToLower(element[at[2]:at[3]]); {
		case key == "value", key == "content":
			from, to = at[group], at[group+1]
		case strings.EqualFold(name, "password"): // the type of the input
		case key == "name", key == "key", name == "", strings.EqualFold(said, "password"):
			name = said
		}
	}
	if to == from {
		name = ""
	}
	return name, from, to
}
