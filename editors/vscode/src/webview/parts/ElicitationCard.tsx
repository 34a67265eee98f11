/**
 * Elicitation from the agent: a form to fill in, or a page to open. Nothing is sent before the user
 * submits it.
 */
import type { ElicitationPropertySchema, ElicitationSchema } from "@agentclientprotocol/sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ElicitationEvent } from "../../shared/events.js";
import { choicesOf, type Choice } from "../../shared/formChoices.js";
import type { FormContent } from "../../shared/intents.js";
import { useHost } from "../hostContext.js";
import { t } from "../../shared/l10n.js";

export function ElicitationCard({ request }: { request: ElicitationEvent }): JSX.Element {
  const { post } = useHost();
  const { questionId } = request;
  return (
    <section class="entry elicitation" aria-label={t("Question")} data-testid="elicitation" data-question-id={questionId}>
      <p class="message-text">{request.message}</p>
      {request.form === null ? (
        <>
          <p class="small">{request.url}</p>
          <div class="buttons">
            <button
              type="button"
              class="primary"
              data-testid="elicitation-open"
              onClick={() => {
                post({ type: "openUrl", questionId });
              }}
            >
              {t("Open Page")}
            </button>
            <Decline questionId={questionId} />
          </div>
        </>
      ) : (
        <Form form={request.form} questionId={questionId} />
      )}
    </section>
  );
}

function Decline({ questionId }: { questionId: string }): JSX.Element {
  const { post } = useHost();
  return (
    <button
      type="button"
      class="secondary"
      data-testid="elicitation-decline"
      onClick={() => {
        post({ type: "decline", questionId });
      }}
    >
      {t("Decline")}
    </button>
  );
}

/** What was written into forms that are not sent yet: the user may look at another question meanwhile. */
const drafts = new WeakMap<ElicitationSchema, FormContent>();

function Form({ form, questionId }: { form: ElicitationSchema; questionId: string }): JSX.Element {
  const { post } = useHost();
  const properties = Object.entries(form.properties ?? {});
  const [values, setValues] = useState<FormContent>(() => drafts.get(form) ?? defaultsOf(properties));
  drafts.set(form, values);
  const required = new Set(form.required ?? []);
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    post({ type: "fillIn", questionId, content: withoutEmptyTexts(values) });
  };
  return (
    <form onSubmit={onSubmit}>
      {properties.map(([name, schema]) => (
        <Field
          key={name}
          id={`${questionId}-${name}`}
          name={name}
          schema={schema}
          isRequired={required.has(name)}
          value={values[name]}
          onValue={(value) => {
            setValues({ ...values, [name]: value });
          }}
        />
      ))}
      <div class="buttons">
        <button type="submit" class="primary" data-testid="elicitation-submit">
          {t("Send Answer")}
        </button>
        <Decline questionId={questionId} />
      </div>
    </form>
  );
}

type Value = FormContent[string];

function defaultsOf(properties: readonly [string, ElicitationPropertySchema][]): FormContent {
  const values: Record<string, Value> = {};
  for (const [name, schema] of properties) {
    const value: unknown = "default" in schema ? schema.default : undefined;
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      values[name] = value;
    } else if (schema.type === "boolean") values[name] = false;
  }
  return values;
}

/** Drop empty texts: an empty field is not an answer. */
function withoutEmptyTexts(values: FormContent): FormContent {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}

interface FieldProps {
  readonly id: string;
  readonly name: string;
  readonly schema: ElicitationPropertySchema;
  readonly isRequired: boolean;
  readonly value: Value | undefined;
  readonly onValue: (value: Value) => void;
}

function Field(props: FieldProps): JSX.Element {
  const { id, name, schema, isRequired } = props;
  const named = typeof schema.title === "string" ? schema.title : name;
  // A check box that is not checked is an answer, too.
  const title = isRequired && schema.type !== "boolean" ? t("{0} (required)", named) : named;
  const description = typeof schema.description === "string" ? schema.description : "";
  const choices = choicesOf(schema);
  if (choices !== null) {
    return (
      <fieldset class="field" data-testid={`field-${name}`}>
        <legend>{title}</legend>
        <Choices {...props} choices={choices} />
        {description !== "" && <p class="small">{description}</p>}
      </fieldset>
    );
  }
  if (schema.type === "boolean") {
    return (
      <div class="field" data-testid={`field-${name}`}>
        <label class="choice">
          <Input {...props} />
          {title}
        </label>
        {description !== "" && <p class="small">{description}</p>}
      </div>
    );
  }
  return (
    <div class="field" data-testid={`field-${name}`}>
      <label for={id}>{title}</label>
      <Input {...props} />
      {description !== "" && <p class="small">{description}</p>}
    </div>
  );
}

function Input({ id, schema, isRequired, value, onValue }: FieldProps): JSX.Element {
  if (schema.type === "boolean") {
    const onChange = (event: Event): void => {
      onValue((event.currentTarget as HTMLInputElement).checked);
    };
    return <input id={id} type="checkbox" checked={value === true} onChange={onChange} />;
  }
  const isNumber = schema.type === "number" || schema.type === "integer";
  const onInput = (event: Event): void => {
    const { value: text, valueAsNumber } = event.currentTarget as HTMLInputElement;
    onValue(isNumber && text !== "" ? valueAsNumber : text);
  };
  return (
    <input
      id={id}
      type={isNumber ? "number" : "text"}
      step={schema.type === "integer" ? 1 : "any"}
      required={isRequired}
      value={typeof value === "string" || typeof value === "number" ? value : ""}
      onInput={onInput}
    />
  );
}

function Choices({ id, schema, isRequired, value, onValue, choices }: FieldProps & { choices: readonly Choice[] }): JSX.Element {
  const isMultiple = schema.type === "array";
  const chosen = Array.isArray(value) ? value : typeof value === "string" ? [value] : [];
  const toggle = (choice: string, isChosen: boolean): void => {
    if (!isMultiple) onValue(choice);
    else onValue(isChosen ? [...chosen, choice] : chosen.filter((each) => each !== choice));
  };
  return (
    <>
      {choices.map((choice) => (
        <label key={choice.value} class="choice">
          <input
            type={isMultiple ? "checkbox" : "radio"}
            name={id}
            required={isRequired && !isMultiple}
            checked={chosen.includes(choice.value)}
            data-testid={`choice-${choice.value}`}
            onChange={(event) => {
              toggle(choice.value, event.currentTarget.checked);
            }}
          />
          {choice.title}
        </label>
      ))}
    </>
  );
}
