"""API keys of the providers, each from an environment variable. Values only: cheap to import.

Every variable that `provider_profiles.json` names has a field here: so it is a secret, which no
child process inherits. `GH_TOKEN` and `GITHUB_TOKEN` have none: they belong to git and `gh`.
"""

from pydantic import SecretStr

from acp_server.config.setting import setting
from acp_server.startup.fast_dataclass import frozen_dataclass

SHARED_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
CLOUD_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "CLOUD_ML_REGION",
    "VERTEX_ACCESS_TOKEN",
)
"""Variables of the clouds' own tools, which commands may need too: no secrets of this server."""
OptionalSecret = SecretStr | None


def _key(title: str, variable: str) -> OptionalSecret:
    return setting(None, title, variable=variable, name=variable.lower())


@frozen_dataclass
class ProviderKeys:
    """The keys of all providers but Anthropic."""

    openai_api_key: OptionalSecret = _key("The OpenAI API key", "OPENAI_API_KEY")
    openrouter_api_key: OptionalSecret = _key("The OpenRouter API key", "OPENROUTER_API_KEY")
    lm_api_key: OptionalSecret = _key("The LM Studio API key", "LM_API_KEY")
    gemini_api_key: OptionalSecret = _key("The Gemini API key", "GEMINI_API_KEY")
    google_api_key: OptionalSecret = _key("The Gemini API key, alternative name", "GOOGLE_API_KEY")
    dashscope_api_key: OptionalSecret = _key("The Alibaba Cloud API key", "DASHSCOPE_API_KEY")
    deepseek_api_key: OptionalSecret = _key("The DeepSeek API key", "DEEPSEEK_API_KEY")
    nous_api_key: OptionalSecret = _key("The Nous Research API key", "NOUS_API_KEY")
    glm_api_key: OptionalSecret = _key("The Z.AI API key", "GLM_API_KEY")
    zai_api_key: OptionalSecret = _key("The Z.AI API key, alternative name", "ZAI_API_KEY")
    z_ai_api_key: OptionalSecret = _key("The Z.AI API key, alternative name", "Z_AI_API_KEY")
    kimi_api_key: OptionalSecret = _key("The Kimi API key", "KIMI_API_KEY")
    kimi_coding_api_key: OptionalSecret = _key(
        "The Kimi API key, alternative name", "KIMI_CODING_API_KEY"
    )
    kimi_cn_api_key: OptionalSecret = _key("The Kimi (China) API key", "KIMI_CN_API_KEY")
    minimax_api_key: OptionalSecret = _key("The MiniMax API key", "MINIMAX_API_KEY")
    minimax_cn_api_key: OptionalSecret = _key("The MiniMax (China) API key", "MINIMAX_CN_API_KEY")
    xai_api_key: OptionalSecret = _key("The xAI API key", "XAI_API_KEY")
    hf_token: OptionalSecret = _key("The Hugging Face token", "HF_TOKEN")
    nvidia_api_key: OptionalSecret = _key("The NVIDIA NIM API key", "NVIDIA_API_KEY")
    alibaba_coding_plan_api_key: OptionalSecret = _key(
        "The Alibaba Cloud Coding Plan API key", "ALIBABA_CODING_PLAN_API_KEY"
    )
    ai_gateway_api_key: OptionalSecret = _key("The Vercel AI Gateway API key", "AI_GATEWAY_API_KEY")
    opencode_zen_api_key: OptionalSecret = _key("The OpenCode Zen API key", "OPENCODE_ZEN_API_KEY")
    opencode_go_api_key: OptionalSecret = _key("The OpenCode Go API key", "OPENCODE_GO_API_KEY")
    arceeai_api_key: OptionalSecret = _key("The Arcee AI API key", "ARCEEAI_API_KEY")
    ollama_api_key: OptionalSecret = _key("The Ollama Cloud API key", "OLLAMA_API_KEY")
    copilot_github_token: OptionalSecret = _key(
        "The GitHub token for Copilot", "COPILOT_GITHUB_TOKEN"
    )
    deepinfra_api_key: OptionalSecret = _key("The DeepInfra API key", "DEEPINFRA_API_KEY")
    fireworks_api_key: OptionalSecret = _key("The Fireworks AI API key", "FIREWORKS_API_KEY")
    gmi_api_key: OptionalSecret = _key("The GMI Cloud API key", "GMI_API_KEY")
    kilocode_api_key: OptionalSecret = _key("The Kilo Code API key", "KILOCODE_API_KEY")
    novita_api_key: OptionalSecret = _key("The NovitaAI API key", "NOVITA_API_KEY")
    stepfun_api_key: OptionalSecret = _key("The StepFun API key", "STEPFUN_API_KEY")
    tokenhub_api_key: OptionalSecret = _key("The Tencent TokenHub API key", "TOKENHUB_API_KEY")
    upstage_api_key: OptionalSecret = _key("The Upstage API key", "UPSTAGE_API_KEY")
    xiaomi_api_key: OptionalSecret = _key("The Xiaomi MiMo API key", "XIAOMI_API_KEY")
    azure_foundry_api_key: OptionalSecret = _key(
        "The Azure Foundry API key", "AZURE_FOUNDRY_API_KEY"
    )
