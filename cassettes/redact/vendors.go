package redact

// shapeRow describes the keys of a vendor: a prefix, and the characters after it. The facts are from
// the page of the vendor.
type shapeRow struct {
	kind, vendor string // what a report calls it
	prefixes     []string
	chars        *charSet
	min, max     int // characters after the prefix; a max of 0 means unlimited
	page         string
}

func (r *shapeRow) what() string {
	article := "a "
	if r.vendor == "" {
		return article + r.kind
	}
	return article + r.kind + " of " + r.vendor
}

// charSet is a set of bytes.
type charSet [256]bool

func charsOf(more string) *charSet {
	var set charSet
	for _, c := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" + more) {
		set[c] = true
	}
	return &set
}

func only(chars string) *charSet {
	var set charSet
	for _, c := range []byte(chars) {
		set[c] = true
	}
	return &set
}

func (set *charSet) all(text string) bool {
	for i := range len(text) {
		if !set[text[i]] {
			return false
		}
	}
	return true
}

// Alphabets of keys.
var (
	alnum       = charsOf("")
	alnumDash   = charsOf("-")
	alnumLine   = charsOf("_")
	nameChars   = charsOf("_-")
	dotted      = charsOf("_-.=")
	base64Chars = charsOf("+/_-=")
	base64Only  = charsOf("+/")
	urlChars    = charsOf("%+/=")
	dollar      = charsOf("$")
	hexChars    = only("0123456789abcdefABCDEF")
	hexDash     = only("0123456789abcdefABCDEF-")
	upperChars  = only("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	upperDash   = only("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-")
)

// shapeRows are the keys and tokens with a known prefix.
var shapeRows = []shapeRow{
	{"key", "Anthropic", []string{"sk-ant-"}, nameChars, 16, 0, "https://docs.anthropic.com/en/api/getting-started"},
	{"key", "", []string{"sk-"}, nameChars, 19, 0, "https://platform.openai.com/docs/api-reference/authentication"},
	{"key", "Langfuse", []string{"sk-lf-"}, hexDash, 24, 0, "https://langfuse.com/docs/api"},
	{"key", "Google", []string{"AIza"}, nameChars, 35, 0, "https://docs.cloud.google.com/docs/authentication/api-keys"},
	{"token", "Google", []string{"ya29."}, nameChars, 20, 0, "https://developers.google.com/identity/protocols/oauth2"},
	{"secret", "Google", []string{"GOCSPX-"}, nameChars, 28, 28, "https://developers.google.com/identity/protocols/oauth2/web-server"},
	{"token", "Google", []string{"1//0"}, nameChars, 30, 0, "https://developers.google.com/identity/protocols/oauth2/native-app"},
	{"key", "Google", []string{"AQ.Ab"}, nameChars, 30, 0, "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/start/api-keys"},
	{"token", "GitHub", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, alnum, 30, 0, "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github"},
	{"token", "GitHub", []string{"github_pat_"}, alnumLine, 22, 0, "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens"},
	{"token", "GitLab", []string{"glpat-", "gldt-", "glft-", "glrt-", "glptt-", "glimt-", "glagent-", "gloas-", "glsoat-", "glffct-"}, dotted, 20, 0, "https://docs.gitlab.com/security/tokens/"},
	{"token", "GitLab", []string{"glcbt-"}, nameChars, 20, 0, "https://docs.gitlab.com/ci/jobs/ci_job_token/"},
	{"token", "GitLab", []string{"GR1348941"}, nameChars, 20, 0, "https://docs.gitlab.com/security/tokens/#runner-registration-tokens"},
	{"token", "Slack", []string{"xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe.xoxp-", "xoxe.xoxb-"}, alnumDash, 10, 0, "https://docs.slack.dev/authentication/tokens"},
	{"token", "Slack", []string{"xapp-"}, alnumDash, 20, 0, "https://docs.slack.dev/authentication/tokens#app-level"},
	{"key", "AWS", []string{"AKIA", "ASIA", "ABIA", "ACCA"}, upperChars, 16, 16, "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"},
	{"key", "AWS", []string{"A3T"}, upperChars, 17, 17, "https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html"},
	{"key", "Amazon Bedrock", []string{"ABSK"}, base64Chars, 60, 0, "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html"},
	{"key", "Amazon Bedrock", []string{"bedrock-api-key-"}, base64Chars, 40, 0, "https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-how.html"},
	{"token", "Hugging Face", []string{"hf_"}, alnum, 30, 0, "https://huggingface.co/docs/hub/security-tokens"},
	{"token", "Hugging Face", []string{"api_org_"}, alnum, 30, 0, "https://huggingface.co/docs/hub/security-tokens#organization"},
	{"key", "Groq", []string{"gsk_"}, alnum, 20, 0, "https://console.groq.com/docs/quickstart"},
	{"token", "Replicate", []string{"r8_"}, alnum, 30, 0, "https://replicate.com/docs/topics/security/api-tokens"},
	{"key", "Perplexity", []string{"pplx-"}, alnum, 30, 0, "https://docs.perplexity.ai/getting-started/quickstart"},
	{"key", "xAI", []string{"xai-"}, alnum, 30, 0, "https://docs.x.ai/docs/tutorial"},
	{"key", "Stripe", []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"}, alnum, 10, 0, "https://docs.stripe.com/keys"},
	{"secret", "Stripe", []string{"whsec_"}, base64Chars, 24, 0, "https://docs.stripe.com/webhooks"},
	{"key", "Fireworks", []string{"fw_"}, alnum, 20, 0, "https://docs.fireworks.ai/api-reference/introduction"},
	{"key", "Together", []string{"tgp_v1_"}, nameChars, 30, 0, "https://docs.together.ai/docs/quickstart"},
	{"key", "Cerebras", []string{"csk-"}, alnum, 30, 0, "https://inference-docs.cerebras.ai/quickstart"},
	{"key", "NVIDIA", []string{"nvapi-"}, nameChars, 40, 0, "https://docs.api.nvidia.com/nim/reference/llm-apis"},
	{"key", "Tavily", []string{"tvly-"}, nameChars, 20, 0, "https://docs.tavily.com/documentation/quickstart"},
	{"key", "Firecrawl", []string{"fc-"}, hexChars, 32, 32, "https://docs.firecrawl.dev/introduction"},
	{"key", "E2B", []string{"e2b_"}, hexChars, 40, 40, "https://e2b.dev/docs/api-key"},
	{"key", "Pinecone", []string{"pcsk_"}, alnumLine, 40, 0, "https://docs.pinecone.io/guides/projects/manage-api-keys"},
	{"key", "LangSmith", []string{"lsv2_pt_", "lsv2_sk_", "ls__"}, alnumLine, 30, 0, "https://docs.langchain.com/langsmith/create-account-api-key"},
	{"key", "Jina", []string{"jina_"}, nameChars, 40, 0, "https://jina.ai/embeddings/"},
	{"key", "Voyage", []string{"pa-"}, nameChars, 40, 0, "https://docs.voyageai.com/docs/api-key-and-installation"},
	{"token", "Modal", []string{"ak-", "as-"}, alnum, 22, 22, "https://modal.com/docs/reference/cli/token"},
	{"key", "RunPod", []string{"rpa_"}, upperChars, 30, 0, "https://docs.runpod.io/get-started/api-keys"},
	{"key", "Anyscale", []string{"esecret_"}, alnum, 20, 0, "https://docs.anyscale.com/administration/"},
	{"key", "ElevenLabs", []string{"sk_"}, hexChars, 48, 48, "https://elevenlabs.io/docs/api-reference/authentication"},
	{"key", "PostHog", []string{"phx_"}, alnum, 30, 0, "https://posthog.com/docs/api"},
	{"key", "LlamaCloud", []string{"llx-"}, alnum, 30, 0, "https://developers.llamaindex.ai/python/cloud/general/api_key/"},
	{"key", "Mem0", []string{"m0-"}, alnum, 30, 0, "https://docs.mem0.ai/platform/quickstart"},
	{"key", "Dify", []string{"app-", "dataset-"}, alnum, 24, 24, "https://docs.dify.ai/en/guides/application-publishing/developing-with-apis"},
	{"token", "npm", []string{"npm_"}, alnum, 36, 0, "https://docs.npmjs.com/about-access-tokens"},
	{"token", "PyPI", []string{"pypi-"}, nameChars, 50, 0, "https://pypi.org/help/#apitoken"},
	{"token", "Docker", []string{"dckr_pat_", "dckr_oat_"}, nameChars, 20, 0, "https://docs.docker.com/security/access-tokens/"},
	{"key", "RubyGems", []string{"rubygems_"}, hexChars, 48, 48, "https://guides.rubygems.org/api-key-scopes/"},
	{"token", "Clojars", []string{"CLOJARS_"}, alnum, 60, 60, "https://github.com/clojars/clojars-web/wiki/Deploy-Tokens"},
	{"token", "crates.io", []string{"cio"}, alnum, 32, 32, "https://doc.rust-lang.org/cargo/reference/publishing.html"},
	{"token", "HashiCorp Vault", []string{"hvs.", "hvb.", "hvr."}, nameChars, 20, 0, "https://developer.hashicorp.com/vault/docs/concepts/tokens"},
	{"token", "HashiCorp Vault", []string{"s."}, alnum, 24, 24, "https://developer.hashicorp.com/vault/docs/concepts/tokens#token-prefixes"},
	{"token", "DigitalOcean", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, hexChars, 64, 64, "https://docs.digitalocean.com/reference/api/create-personal-access-token/"},
	{"token", "Databricks", []string{"dapi"}, hexDash, 32, 34, "https://docs.databricks.com/aws/en/dev-tools/auth/pat"},
	{"token", "Doppler", []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}, dotted, 40, 0, "https://docs.doppler.com/reference/auth-token-formats"},
	{"key", "Duffel", []string{"duffel_test_", "duffel_live_"}, nameChars, 40, 0, "https://duffel.com/docs/api/overview/making-requests"},
	{"token", "Dynatrace", []string{"dt0c01.", "dt0s01.", "dt0s02."}, dotted, 60, 0, "https://docs.dynatrace.com/docs/manage/identity-access-management/access-tokens-and-oauth-clients/access-tokens"},
	{"key", "EasyPost", []string{"EZAK", "EZTK"}, alnum, 54, 54, "https://docs.easypost.com/docs/authentication"},
	{"token", "Facebook", []string{"EAAM", "EAAC", "EAAB", "EAAG", "EAAD"}, alnum, 80, 0, "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/"},
	{"key", "Flutterwave", []string{"FLWSECK_TEST-", "FLWSECK-"}, nameChars, 12, 0, "https://developer.flutterwave.com/docs/authentication"},
	{"token", "Fly.io", []string{"fo1_", "fm1a_", "fm1r_", "fm2_"}, base64Chars, 40, 0, "https://fly.io/docs/security/tokens/"},
	{"token", "Frame.io", []string{"fio-u-"}, nameChars, 40, 0, "https://developer.frame.io/docs/getting-started/authentication"},
	{"token", "Grafana", []string{"glsa_"}, alnumLine, 41, 41, "https://grafana.com/docs/grafana/latest/administration/service-accounts/"},
	{"token", "Grafana", []string{"glc_"}, base64Chars, 32, 0, "https://grafana.com/docs/grafana-cloud/security-and-account-management/authentication-and-permissions/access-policies/"},
	{"key", "Grafana", []string{"eyJrIjoi"}, base64Chars, 70, 0, "https://grafana.com/docs/grafana/latest/administration/api-keys/"},
	{"token", "Harness", []string{"pat.", "sat."}, dotted, 60, 0, "https://developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys/"},
	{"key", "Heroku", []string{"HRKU-"}, nameChars, 36, 0, "https://devcenter.heroku.com/articles/authentication"},
	{"token", "HubSpot", []string{"pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"}, hexDash, 36, 36, "https://developers.hubspot.com/docs/apps/legacy-apps/private-apps/overview"},
	{"key", "Infracost", []string{"ico-"}, alnum, 32, 32, "https://www.infracost.io/docs/features/environment_variables/"},
	{"key", "Linear", []string{"lin_api_", "lin_oauth_"}, alnum, 32, 0, "https://linear.app/developers"},
	{"token", "Notion", []string{"ntn_"}, alnum, 40, 0, "https://developers.notion.com/guides/resources/best-practices-for-handling-api-keys"},
	{"token", "Notion", []string{"secret_"}, alnum, 43, 43, "https://developers.notion.com/reference/authentication"},
	{"key", "Octopus Deploy", []string{"API-"}, upperChars, 25, 40, "https://octopus.com/docs/octopus-rest-api/how-to-create-an-api-key"},
	{"token", "OpenShift", []string{"sha256~"}, nameChars, 43, 43, "https://docs.redhat.com/en/documentation/openshift_container_platform/4.19/html/authentication_and_authorization/"},
	{"password", "PlanetScale", []string{"pscale_pw_", "pscale_tkn_", "pscale_oauth_"}, dotted, 32, 0, "https://planetscale.com/docs/concepts/service-tokens"},
	{"key", "Postman", []string{"PMAK-"}, hexDash, 59, 59, "https://learning.postman.com/docs/developer/postman-api/authentication/"},
	{"key", "Prefect", []string{"pnu_"}, alnum, 36, 36, "https://docs.prefect.io/v3/manage/cloud/manage-users/api-keys"},
	{"token", "Pulumi", []string{"pul-"}, hexChars, 40, 40, "https://www.pulumi.com/docs/pulumi-cloud/access-management/access-tokens/"},
	{"key", "ReadMe", []string{"rdme_"}, alnum, 60, 0, "https://docs.readme.com/main/reference/intro/authentication"},
	{"key", "SendGrid", []string{"SG."}, dotted, 60, 0, "https://www.twilio.com/docs/sendgrid/for-developers/sending-email/authentication"},
	{"key", "Brevo", []string{"xkeysib-", "xsmtpsib-"}, alnumDash, 80, 81, "https://developers.brevo.com/docs/getting-started"},
	{"token", "Sentry", []string{"sntryu_"}, hexChars, 64, 64, "https://docs.sentry.io/api/auth/"},
	{"token", "Sentry", []string{"sntrys_"}, base64Chars, 60, 0, "https://docs.sentry.io/account/auth-tokens/"},
	{"token", "SettleMint", []string{"sm_aat_", "sm_pat_", "sm_sat_"}, alnum, 16, 0, "https://console.settlemint.com/documentation/"},
	{"token", "Shippo", []string{"shippo_live_", "shippo_test_"}, hexChars, 40, 40, "https://docs.goshippo.com/docs/guides_general/authentication/"},
	{"token", "Shopify", []string{"shpat_", "shpca_", "shppa_", "shpss_", "shpua_"}, hexChars, 32, 32, "https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens"},
	{"token", "Sourcegraph", []string{"sgp_"}, alnumLine, 40, 0, "https://sourcegraph.com/docs/cli/how-tos/creating-an-access-token"},
	{"token", "Square", []string{"sq0atp-", "sq0csp-"}, nameChars, 22, 0, "https://developer.squareup.com/docs/build-basics/access-tokens"},
	{"token", "Square", []string{"EAAA"}, nameChars, 60, 60, "https://developer.squareup.com/docs/build-basics/access-tokens#personal"},
	{"key", "Twilio", []string{"SK"}, hexChars, 32, 32, "https://www.twilio.com/docs/iam/api-keys"},
	{"key", "Typeform", []string{"tfp_"}, dotted, 40, 0, "https://www.typeform.com/developers/get-started/personal-access-token/"},
	{"token", "Yandex", []string{"t1."}, dotted, 100, 0, "https://yandex.cloud/en/docs/iam/concepts/authorization/iam-token"},
	{"key", "Yandex", []string{"AQVN"}, nameChars, 35, 38, "https://yandex.cloud/en/docs/iam/concepts/authorization/api-key"},
	{"secret", "Yandex", []string{"YC"}, nameChars, 38, 38, "https://yandex.cloud/en/docs/iam/concepts/authorization/access-key"},
	{"key", "1Password", []string{"A3-"}, upperDash, 32, 37, "https://support.1password.com/secret-key-security/"},
	{"token", "1Password", []string{"ops_eyJ"}, base64Chars, 100, 0, "https://developer.1password.com/docs/service-accounts/"},
	{"secret", "Adobe", []string{"p8e-"}, nameChars, 32, 0, "https://developer.adobe.com/developer-console/docs/guides/authentication/"},
	{"key", "age", []string{"AGE-SECRET-KEY-1"}, upperChars, 58, 58, "https://age-encryption.org/v1"},
	{"token", "Airtable", []string{"pat"}, dotted, 79, 79, "https://airtable.com/developers/web/guides/personal-access-tokens"},
	{"key", "Alibaba Cloud", []string{"LTAI"}, alnum, 12, 20, "https://www.alibabacloud.com/help/en/ram/user-guide/create-an-accesskey-pair"},
	{"key", "JFrog", []string{"AKCp"}, alnum, 60, 0, "https://jfrog.com/help/r/jfrog-platform-administration-documentation/api-key"},
	{"token", "JFrog", []string{"cmVmd"}, alnum, 59, 59, "https://jfrog.com/help/r/jfrog-platform-administration-documentation/reference-token"},
	{"key", "Cloudflare", []string{"v1.0-"}, hexDash, 100, 0, "https://developers.cloudflare.com/fundamentals/api/get-started/ca-keys/"},
	{"key", "ClickHouse", []string{"4b1d"}, alnum, 38, 38, "https://clickhouse.com/docs/cloud/manage/openapi"},
	{"key", "New Relic", []string{"NRAK-", "NRII-", "NRRA-", "NRBR-"}, nameChars, 19, 0, "https://docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys/"},
	{"key", "Supabase", []string{"sbp_"}, hexChars, 40, 40, "https://supabase.com/docs/reference/api/introduction"},
	{"key", "Supabase", []string{"sb_secret_"}, nameChars, 20, 0, "https://supabase.com/docs/guides/api/api-keys"},
	{"token", "Netlify", []string{"nfp_", "nfc_", "nfo_"}, alnum, 30, 0, "https://docs.netlify.com/api-and-cli-guides/api-guides/get-started-with-api/"},
	{"key", "Render", []string{"rnd_"}, alnum, 24, 0, "https://render.com/docs/api"},
	{"key", "Tailscale", []string{"tskey-"}, alnumDash, 20, 0, "https://tailscale.com/kb/1085/auth-keys"},
	{"token", "Figma", []string{"figd_", "figo_", "figu_"}, nameChars, 30, 0, "https://developers.figma.com/docs/rest-api/authentication/"},
	{"token", "Atlassian", []string{"ATATT3", "ATCTT3"}, base64Chars, 80, 0, "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/"},
	{"password", "Bitbucket", []string{"ATBB"}, alnum, 28, 32, "https://support.atlassian.com/bitbucket-cloud/docs/app-passwords/"},
	{"token", "Trello", []string{"ATTA"}, hexChars, 64, 72, "https://developer.atlassian.com/cloud/trello/guides/rest-api/authorization/"},
	{"token", "Contentful", []string{"CFPAT-"}, nameChars, 40, 0, "https://www.contentful.com/developers/docs/references/authentication/"},
	{"token", "Dropbox", []string{"sl."}, nameChars, 100, 0, "https://www.dropbox.com/developers/reference/oauth-guide"},
	{"key", "Mailgun", []string{"key-"}, hexChars, 32, 32, "https://documentation.mailgun.com/docs/mailgun/api-reference/mg-auth"},
	{"token", "Mapbox", []string{"sk.eyJ"}, dotted, 60, 0, "https://docs.mapbox.com/accounts/guides/tokens/"},
	{"key", "Resend", []string{"re_"}, alnumLine, 30, 40, "https://resend.com/docs/dashboard/api-keys/introduction"},
	{"key", "Cal.com", []string{"cal_live_"}, hexChars, 32, 32, "https://cal.com/docs/api-reference/v2/introduction"},
	{"key", "NuGet", []string{"oy2"}, alnum, 43, 43, "https://learn.microsoft.com/en-us/nuget/nuget-org/publish-a-package"},
	{"token", "Buildkite", []string{"bkua_", "bkaj_", "bkat_"}, alnum, 30, 0, "https://buildkite.com/docs/apis/managing-api-tokens"},
	{"token", "CircleCI", []string{"CCIPAT_", "CCIPRJ_"}, alnumLine, 40, 0, "https://circleci.com/docs/guides/toolkit/managing-api-tokens/"},
	{"token", "SonarQube", []string{"squ_", "sqp_", "sqa_", "sqb_"}, hexChars, 40, 40, "https://docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens/"},
	{"key", "Tencent Cloud", []string{"AKID"}, alnum, 32, 32, "https://www.tencentcloud.com/document/product/598/32675"},
	{"key", "Volcengine", []string{"AKLT"}, nameChars, 40, 0, "https://www.volcengine.com/docs/6291/65568"},
	{"key", "Baidu", []string{"bce-v3/ALTAK-"}, base64Chars, 40, 0, "https://cloud.baidu.com/doc/WENXINWORKSHOP/s/Um2wxbaps"},
	{"key", "Scaleway", []string{"SCW"}, upperChars, 17, 17, "https://www.scaleway.com/en/docs/iam/concepts/"},
	{"key", "Neon", []string{"napi_"}, alnum, 40, 0, "https://neon.com/docs/manage/api-keys"},
	{"secret", "MongoDB", []string{"mdb_sa_sk_"}, nameChars, 30, 0, "https://www.mongodb.com/docs/atlas/api/service-accounts-overview/"},
	{"key", "Xata", []string{"xau_"}, alnum, 30, 0, "https://xata.io/docs"},
	{"password", "Aiven", []string{"AVNS_"}, nameChars, 16, 0, "https://aiven.io/docs/platform/concepts"},
	{"key", "WooCommerce", []string{"ck_", "cs_"}, hexChars, 40, 40, "https://woocommerce.github.io/woocommerce-rest-api-docs/"},
	{"token", "PayPal", []string{"A21AA"}, nameChars, 60, 0, "https://developer.paypal.com/api/rest/authentication/"},
	{"token", "Braintree", []string{"access_token$production$", "access_token$sandbox$"}, dollar, 30, 0, "https://developer.paypal.com/braintree/docs/guides/authorization/overview"},
	{"key", "Razorpay", []string{"rzp_live_", "rzp_test_"}, alnum, 14, 14, "https://razorpay.com/docs/api/authentication/"},
	{"token", "Plaid", []string{"access-sandbox-", "access-production-", "access-development-"}, hexDash, 36, 36, "https://plaid.com/docs/api/items/"},
	{"key", "Paddle", []string{"pdl_live_apikey_", "pdl_sdbx_apikey_"}, alnumLine, 40, 0, "https://developer.paddle.com/api-reference/about/api-keys"},
	{"key", "Mollie", []string{"live_", "test_"}, alnum, 30, 40, "https://docs.mollie.com/reference/authentication"},
	{"token", "Lichess", []string{"lip_"}, alnum, 20, 20, "https://lichess.org/api"},
	{"token", "X", []string{"AAAAAAAAAAAAAAAAAAAAA"}, urlChars, 60, 0, "https://docs.x.com/resources/fundamentals/authentication/overview"},
	{"key", "Riot Games", []string{"RGAPI-"}, hexDash, 36, 36, "https://developer.riotgames.com/docs/portal"},
	{"key", "LaunchDarkly", []string{"sdk-", "mob-", "api-"}, hexDash, 36, 36, "https://launchdarkly.com/docs/home/account/environment/keys"},
	{"key", "Statsig", []string{"secret-", "console-"}, alnum, 38, 50, "https://docs.statsig.com/http-api/overview"},
	{"key", "Honeycomb", []string{"hcaik_", "hcxik_", "hcxmk_", "hcamk_"}, alnum, 40, 0, "https://docs.honeycomb.io/configure/environments/manage-api-keys/"},
	{"key", "Elastic", []string{"essu_"}, base64Chars, 40, 0, "https://www.elastic.co/docs/deploy-manage/api-keys"},
	{"key", "Lob", []string{"live_pub_", "test_pub_"}, hexChars, 31, 31, "https://docs.lob.com/#tag/Authentication"},
	{"token", "Pinterest", []string{"pina_"}, alnum, 40, 0, "https://developers.pinterest.com/docs/getting-started/authentication/"},
	{"key", "Apify", []string{"apify_api_"}, alnum, 30, 0, "https://docs.apify.com/platform/integrations/api"},
	{"key", "Trigger.dev", []string{"tr_dev_", "tr_prod_", "tr_pat_"}, alnum, 20, 0, "https://trigger.dev/docs/apikeys"},
	{"key", "Clerk", []string{"ak_live_", "ak_test_"}, alnum, 24, 0, "https://clerk.com/docs/guides/development/machine-auth/api-keys"},
	{"key", "Browserbase", []string{"bb_live_", "bb_test_"}, nameChars, 20, 0, "https://docs.browserbase.com/introduction/getting-started"},
	{"token", "Vercel", []string{"vcp_", "vci_", "vca_", "vcr_", "vck_"}, alnum, 24, 0, "https://vercel.com/docs/rest-api"},
	{"token", "Deno", []string{"ddp_", "ddo_"}, alnum, 36, 0, "https://docs.deno.com/deploy/"},
	{"key", "Inngest", []string{"signkey-"}, alnumDash, 30, 0, "https://www.inngest.com/docs/platform/signing-keys"},
	{"key", "Cursor", []string{"crsr_"}, hexChars, 64, 64, "https://cursor.com/docs/account/teams/admin-api"},
	{"key", "Cursor or Runway", []string{"key_"}, hexChars, 64, 128, "https://docs.dev.runwayml.com/guides/using-the-api/"},
	{"key", "Daytona", []string{"dtn_"}, hexChars, 64, 64, "https://www.daytona.io/docs/en/api-keys/"},
	{"key", "Cartesia", []string{"sk_car_"}, alnum, 20, 0, "https://docs.cartesia.ai/get-started/authenticate-your-client-applications"},
	{"key", "Composio", []string{"ak_", "uak_", "oak_"}, nameChars, 20, 20, "https://docs.composio.dev/reference/authenticating-to-composio"},
	{"key", "Context7", []string{"ctx7sk-"}, hexDash, 36, 36, "https://context7.com/docs/howto/api-keys"},
	{"key", "Brave", []string{"BSA"}, nameChars, 28, 40, "https://api-dashboard.search.brave.com/documentation/guides/authentication"},
	{"key", "Mandrill", []string{"md-"}, nameChars, 22, 22, "https://mailchimp.com/developer/transactional/guides/quick-start/"},
	{"key", "Weights & Biases", []string{"wandb_v1_"}, alnumLine, 40, 0, "https://docs.wandb.ai/platform/hosting/iam/api-keys"},
	{"token", "Logfire", []string{"pylf_v1_", "pylf_v2_"}, alnumLine, 40, 0, "https://logfire.pydantic.dev/docs/how-to-guides/create-write-tokens/"},
	{"key", "Luma", []string{"luma-"}, hexDash, 36, 80, "https://docs.lumalabs.ai/docs/api"},
	{"key", "Hyperbrowser", []string{"hb_"}, hexChars, 28, 28, "https://docs.hyperbrowser.ai/get-started/quickstart"},
	{"key", "Browser Use", []string{"bu_"}, nameChars, 40, 0, "https://docs.cloud.browser-use.com/guides/authentication"},
	{"key", "Continue", []string{"con_"}, hexChars, 64, 64, "https://docs.continue.dev/hub/introduction"},
	{"key", "n8n", []string{"n8n_api_"}, hexChars, 80, 0, "https://docs.n8n.io/api/authentication/"},
	{"key", "Mixedbread", []string{"emb_", "mxb_"}, alnum, 40, 0, "https://www.mixedbread.com/docs/quickstart"},
	{"key", "Prime Intellect", []string{"pit_"}, hexChars, 64, 64, "https://docs.primeintellect.ai/api-reference/api-keys"},
	{"token", "Axiom", []string{"xaat-", "xapt-"}, hexDash, 36, 36, "https://axiom.co/docs/reference/tokens"},
	{"key", "PromptLayer", []string{"pl_"}, hexChars, 32, 32, "https://docs.promptlayer.com/quickstart"},
	{"key", "Traceloop", []string{"tl_"}, hexChars, 32, 64, "https://www.traceloop.com/docs/openllmetry/integrations/traceloop"},
	{"token", "Modal", []string{"wk-", "ws-"}, alnum, 22, 22, "https://modal.com/docs/guide/webhook-proxy-auth"},
	{"token", "Kaggle", []string{"KGAT_"}, hexChars, 32, 32, "https://www.kaggle.com/docs/api"},
	{"key", "Amp", []string{"sgamp_user_"}, nameChars, 60, 0, "https://ampcode.com/manual"},
	{"key", "OpenPipe", []string{"opk_"}, hexChars, 40, 42, "https://docs.openpipe.ai/getting-started/quick-start"},
	{"token", "Amazon MWS", []string{"amzn.mws."}, hexDash, 36, 36, "https://docs.developer.amazonservices.com/en_US/dev_guide/DG_Registering.html"},
	{"token", "MailerSend", []string{"mlsn."}, hexChars, 64, 64, "https://developers.mailersend.com/general.html#authentication"},
	{"token", "Sentry", []string{"sntrya_", "sntryi_"}, hexChars, 64, 64, "https://docs.sentry.io/account/auth-tokens/#integration-tokens"},
	{"token", "Scalingo", []string{"tk-us-"}, nameChars, 48, 48, "https://doc.scalingo.com/platform/app/api-tokens"},
	{"secret", "42", []string{"s-s4t2ud-", "s-s4t2af-"}, hexChars, 64, 64, "https://api.intra.42.fr/apidoc/guides/getting_started"},
}
