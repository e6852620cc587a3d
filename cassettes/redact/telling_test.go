package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// A name is telling by its words, also if they are written together, and harmless by what it describes.
func TestNamesOfKnownWords(t *testing.T) {
	for value, names := range map[string]string{
		"4711": `pincode pinNumber PINCODE userpin PIN_NUMBER cardpin pinvalue bankpin otpcode mfacode cardcvv cvccode pin2 pukCode`,
		"Tr0ub4dor&3": `authstring authHeaderString privatekeypem privateKeyPem key_api keyApi KEY_PRIVATE adminpw adminPw rootpw smtppw dbpw2 bindpw wifipsk vpnpsk wifi5psk stripe_sk stripeSk STRIPE_SK
			GITHUB_PAT githubPat GITHUBPAT userPAT connStr CONNSTR conn_string connectionString dbconnstr apikeyvalue apikeyprod api2key privkeydata encryptionkeyhex hmackey authkey authpass
			basicauth clientsecretvalue secretstring passwordhash passwordconfirm PGPASS keystorepass rabbitpass mailpass proxypass storagekey saskey sas_key decryptionKey product-key presharedKey
			pswd passwrd user_pword tkn botTkn cred twoFactorCode verificationcode unlockCode recoverycode onetimecode vaultUnsealKey`,
		"q7Xz92LmPa8Kd31R": `sk pat SK_TEST name_sk openaikey`,
	} {
		for name := range strings.FieldsSeq(names) {
			if want := fmt.Sprintf(`{"a":{%q:%q}}`, name, redact.Placeholder(value)); redactedMember(name, value) != want {
				t.Errorf("%s: got %s, want %s", name, redactedMember(name, value), want)
			}
		}
	}
	for value, names := range map[string]string{
		"gpt4o-mini": `max_tokens token_count tokenType passage passport compass bypass passthrough pass_through author authority authenticated pinned spin opinion gpio_pin path pattern patch skip skill skin_tone
			task ask disk mask sky signature_algorithm password_policy passwordpolicy passwordHint passwordChangedAt session_id secretRef secret_key_ref apiKeySource apikeyid tokentype tokenLimit
			cookie_consent cookieconsent timecode timecodes key_signature progressToken keyboard keyword keyframes monkey hotkey zipcode barcode unicode encode statuscode currencyCode connection
			connectionId connector string strategy private privacy account_number serialNumber confirmation_code number hash hex data sk pat name_sk lang_sk file_pat gsi1sk GSI1SK PSKMode pin_length`,
		"*.mp3?x":    `user_pat`,
		"Slovenčina": `menu_sk`,
	} {
		for name := range strings.FieldsSeq(names) {
			if want := fmt.Sprintf(`{"a":{%q:%q}}`, name, value); redactedMember(name, value) != want {
				t.Errorf("%s: got %s, want %s", name, redactedMember(name, value), want)
			}
		}
	}
}

// redactedMember returns JSON with a member after the redaction.
func redactedMember(name, value string) string {
	x := &recording.Interaction{Response: recording.Response{Body: fmt.Appendf(nil, `{"a":{%q:%q}}`, name, value)}}
	return string((&redact.Rules{}).Redacted(x).Response.Body)
}
