"""Texts for bench/leaks.py: what people ask for and how answers begin, and business letters, in seven languages.

A letter is rendered from records (a person, a company, a place, a date, an amount, a number), so that the same records
in another language are its translation: names and numbers stay, all other words change.
"""

LANGS = ("en", "de", "fr", "es", "ru", "zh", "ja")

ASKS = {
    "en": dict(
        code=["Write a Python function: {first}", "I need a helper in Python, something like {name}. {first}",
              "How would you implement {name}? It should do this: {first}"],
        page=["Explain {name} in Python.", "What does the manual say about {name}? I stumbled over \"{first}\"",
              "Please tell me how {name} works."],
        intro=["Sure! Here is what you asked for:", "Here's one way to do it:", "Certainly.", ""],
        outro=["Let me know if you have any further questions or need more help!", "I hope this helps.",
               "Feel free to adapt it to your needs.", "Note that this is only an example and may need changes."],
        again=["Can you make it shorter?", "Why do you do it like that?", "Thanks. And once more with comments?"],
        think=["The user wants a working answer. I should first recall how this is done and then keep it short. Then I check it."],
    ),
    "de": dict(
        code=["Schreibe eine Python-Funktion aus dem Umfeld von {module}.", "Wie baut man so etwas wie {name} nach?"],
        page=["Erkläre mir {name} in Python.", "Was steht im Handbuch zu {name}?"],
        intro=["Gerne! Hier ist ein Beispiel:", "So könnte das aussehen:", "Natürlich."],
        outro=["Lass mich wissen, wenn du weitere Fragen hast!", "Ich hoffe, das hilft dir weiter."],
        again=["Geht das auch kürzer?", "Warum machst du das so?"],
        think=["Gefragt ist eine lauffähige Antwort. Ich überlege zuerst, wie das geht, und fasse mich kurz."],
    ),
    "fr": dict(
        code=["Écris une fonction Python proche du module {module}.", "Comment réaliser quelque chose comme {name} ?"],
        page=["Explique-moi {name} en Python.", "Que dit le manuel au sujet de {name} ?"],
        intro=["Bien sûr ! Voici un exemple :", "Voici une façon de faire :"],
        outro=["N'hésitez pas à me demander si vous avez d'autres questions.", "J'espère que cela vous aide."],
        again=["Peux-tu faire plus court ?", "Pourquoi le faire ainsi ?"],
        think=["On attend une réponse qui marche. Je me rappelle d'abord comment on fait, puis je reste bref."],
    ),
    "es": dict(
        code=["Escribe una función de Python parecida a las de {module}.", "¿Cómo harías algo como {name}?"],
        page=["Explícame {name} en Python.", "¿Qué dice el manual sobre {name}?"],
        intro=["¡Claro! Aquí tienes un ejemplo:", "Una forma de hacerlo es esta:"],
        outro=["Si tienes más preguntas, no dudes en decírmelo.", "Espero que te sirva de ayuda."],
        again=["¿Puedes hacerlo más corto?", "¿Por qué lo haces así?"],
        think=["Se pide una respuesta que funcione. Primero recuerdo cómo se hace y después la escribo en pocas palabras."],
    ),
    "ru": dict(
        code=["Напиши функцию на Python из области {module}.", "Как сделать что-то вроде {name}?"],
        page=["Объясни {name} в Python.", "Что сказано в руководстве о {name}?"],
        intro=["Конечно! Вот пример:", "Можно сделать так:"],
        outro=["Если остались вопросы, просто напишите мне.", "Надеюсь, это поможет."],
        again=["Можно короче?", "Почему именно так?"],
        think=["Нужен рабочий ответ. Сначала вспомню, как это делается, потом напишу кратко и проверю."],
    ),
    "zh": dict(
        code=["请写一个与{module}有关的Python函数。", "怎样实现类似{name}的功能？"],
        page=["请解释Python中的{name}。", "手册里关于{name}是怎么说的？"],
        intro=["当然可以！下面是一个例子：", "可以这样写："],
        outro=["如果还有其他问题，请随时告诉我。", "希望对你有帮助。"],
        again=["能再短一点吗？", "为什么要这样做？"],
        think=["用户需要一个可以运行的答案。我先想一想怎么做，然后简短地写出来并检查一遍。"],
    ),
    "ja": dict(
        code=["{module}に関係するPythonの関数を書いてください。", "{name}のようなものはどう実装しますか？"],
        page=["Pythonの{name}について説明してください。", "マニュアルでは{name}について何と書いてありますか？"],
        intro=["もちろんです。例を示します。", "次のように書けます。"],
        outro=["ほかに質問があれば遠慮なくお知らせください。", "お役に立てば幸いです。"],
        again=["もっと短くできますか？", "なぜそうするのですか？"],
        think=["動く答えが求められている。まずやり方を思い出し、それから短く書いて確かめる。"],
    ),
}

# What a record says, by language: each pattern names a part of it.
LINES = {
    "en": ["{person} of {company} signed the contract over {amount} euros on {date}.",
           "The shipment of {count} pallets reached {city} and was taken over by {person}.",
           "Please pay {amount} euros to {company} in {city} before {date}, quoting file {number}.",
           "Since {date} the account {number} of {company} has been blocked because {count} invoices are open.",
           "{person} asks that the meeting in {city} be moved to {date}."],
    "de": ["{person} von {company} hat am {date} den Vertrag über {amount} Euro unterschrieben.",
           "Die Lieferung mit {count} Paletten ist in {city} eingetroffen; {person} hat sie übernommen.",
           "Bitte überweisen Sie {amount} Euro an {company} in {city} bis zum {date} unter dem Zeichen {number}.",
           "Das Konto {number} der Firma {company} ist seit dem {date} gesperrt, weil {count} Rechnungen offen sind.",
           "{person} bittet darum, das Treffen in {city} auf den {date} zu verlegen."],
    "fr": ["{person}, de la société {company}, a signé le {date} le contrat de {amount} euros.",
           "La livraison de {count} palettes est arrivée à {city}, où {person} l'a reçue.",
           "Merci de verser {amount} euros à {company}, {city}, avant le {date}, sous la référence {number}.",
           "Le compte {number} de {company} est bloqué depuis le {date}, car {count} factures restent dues.",
           "{person} demande que la réunion de {city} soit reportée au {date}."],
    "es": ["{person}, de {company}, firmó el {date} el contrato por {amount} euros.",
           "El envío de {count} palés llegó a {city} y lo recibió {person}.",
           "Les rogamos que paguen {amount} euros a {company}, de {city}, antes del {date}, con la referencia {number}.",
           "La cuenta {number} de {company} está bloqueada desde el {date} porque hay {count} facturas pendientes.",
           "{person} pide que la reunión de {city} se traslade al {date}."],
    "ru": ["{person} из компании {company} подписал {date} договор на {amount} евро.",
           "Груз из {count} поддонов прибыл в город {city}, его принял {person}.",
           "Просим перечислить {amount} евро фирме {company}, {city}, до {date}, указав дело {number}.",
           "Счёт {number} фирмы {company} закрыт с {date}, так как не оплачены {count} накладных.",
           "{person} просит перенести встречу в городе {city} на {date}."],
    "zh": ["{company}公司的{person}于{date}签署了金额为{amount}欧元的合同。", "{count}个托盘的货物已运抵{city}，由{person}接收。",
           "请在{date}之前向{city}的{company}支付{amount}欧元，并注明文号{number}。",
           "由于有{count}张发票未付，{company}的账户{number}自{date}起被冻结。", "{person}请求把在{city}的会议改到{date}。"],
    "ja": ["{company}の{person}は{date}に{amount}ユーロの契約に署名しました。", "{count}枚のパレットが{city}に届き、{person}が受け取りました。",
           "{date}までに{city}の{company}へ{amount}ユーロをお支払いください。整理番号は{number}です。",
           "{count}件の請求書が未払いのため、{company}の口座{number}は{date}から止められています。", "{person}は{city}での会議を{date}に移すよう求めています。"],
}

LETTER_ASKS = {
    "en": ["Summarise this letter for my files:", "Please draft a reply to this:", "Check this note for open points:"],
    "de": ["Fasse diesen Brief für die Akte zusammen:", "Bitte entwirf eine Antwort darauf:"],
    "fr": ["Résume cette lettre pour le dossier :", "Prépare une réponse à ceci :"],
    "es": ["Resume esta carta para el archivo:", "Redacta una respuesta a esto:"],
    "ru": ["Кратко изложи это письмо:", "Подготовь ответ на это:"],
    "zh": ["请为档案概括这封信：", "请起草对此的答复："],
    "ja": ["この手紙を要約してください。", "これへの返事を書いてください。"],
}

# What everybody may know: each pattern tells one thing of a public event.
PUBLIC = {
    "en": ["The {name} was founded in {city} by {person} on {date}.", "{person} led the {name} with {count} members at that time.",
           "On {date} fire destroyed the house of the {name} in {city}; {person} had it built again for {amount} euros.",
           "The prize of the {name}, worth {amount} euros, went to {person} of {company}."],
    "de": ["{name} wurde am {date} von {person} in {city} gegründet.", "{person} leitete {name} mit damals {count} Mitgliedern.",
           "Am {date} brannte das Haus von {name} in {city} ab; {person} ließ es für {amount} Euro neu bauen.",
           "Den Preis von {name} über {amount} Euro erhielt {person} von {company}."],
    "fr": ["{name} fut fondé à {city} par {person} le {date}.", "{person} dirigeait {name}, qui comptait alors {count} membres.",
           "Le {date}, un incendie détruisit la maison de {name} à {city} ; {person} la fit rebâtir pour {amount} euros.",
           "Le prix de {name}, doté de {amount} euros, revint à {person}, de {company}."],
    "es": ["{name} fue fundado en {city} por {person} el {date}.", "{person} dirigía {name}, que tenía entonces {count} miembros.",
           "El {date} un incendio destruyó la casa de {name} en {city}; {person} la hizo levantar de nuevo por {amount} euros.",
           "El premio de {name}, de {amount} euros, fue para {person}, de {company}."],
    "ru": ["{name} основал {person} в городе {city} {date}.", "{person} руководил {name}, где тогда было {count} членов.",
           "{date} пожар уничтожил дом {name} в городе {city}; {person} отстроил его за {amount} евро.",
           "Премию {name} в {amount} евро получил {person} из {company}."],
    "zh": ["{name}由{person}于{date}在{city}创立。", "{person}当时领导着有{count}名成员的{name}。",
           "{date}，{name}在{city}的房屋毁于火灾，{person}花费{amount}欧元重建。", "{name}的奖金{amount}欧元颁给了{company}的{person}。"],
    "ja": ["{name}は{date}に{city}で{person}によって設立されました。", "{person}は当時{count}人の会員がいる{name}を率いていました。",
           "{date}に{city}の{name}の家が火事で失われ、{person}が{amount}ユーロで建て直しました。",
           "{name}の賞金{amount}ユーロは{company}の{person}に贈られました。"],
}

PUBLIC_ASKS = {
    "en": ["What do you know about the {name}?", "Who was {person}?", "Tell me about the history of {city}."],
    "de": ["Was weißt du über {name}?", "Wer war {person}?", "Erzähle mir von der Geschichte von {city}."],
    "fr": ["Que sais-tu de {name} ?", "Qui était {person} ?", "Raconte-moi l'histoire de {city}."],
    "es": ["¿Qué sabes de {name}?", "¿Quién fue {person}?", "Cuéntame la historia de {city}."],
    "ru": ["Что ты знаешь о {name}?", "Кто такой {person}?", "Расскажи об истории города {city}."],
    "zh": ["你知道{name}吗？", "{person}是谁？", "讲讲{city}的历史。"],
    "ja": ["{name}について教えてください。", "{person}とは誰ですか？", "{city}の歴史を教えてください。"],
}

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря".split(),
}

RULES = ["Answer in the language of the customer", "Never promise a date of delivery", "Name the file number first",
         "Ask before you change an order", "Do not speak about prices of other companies", "Keep it below ten lines",
         "Refer to the handbook where you can", "Be polite and brief", "Repeat the question when it is not clear"]
AREAS = ["shipping", "billing", "travel", "insurance", "repairs", "contracts", "complaints", "taxes"]


def asked(rng, lang, what):
    return rng.choice(ASKS[lang][what])


class Letters:
    """Invented people, companies and places, and letters about them."""

    def __init__(self, rng):
        self.rng = rng
        self.cities = [self.name(2, 3) for _ in range(400)]

    def name(self, least, most):
        rng = self.rng
        heads = "B D F G H K L M N P R S T V W Br Dr Gr Kl St Tr Sch Z".split()
        hearts = "a e i o u ai ei au".split()
        tails = ["", "n", "r", "l", "s", "nd", "rt", "lm", "sk"]
        parts = [rng.choice(heads) + rng.choice(hearts) + rng.choice(tails) for _ in range(rng.randint(least, most))]
        return "".join(parts).capitalize()

    def lang(self, but=None):
        return self.rng.choice([lang for lang in LANGS if lang != but])

    def records(self, count=None):
        rng = self.rng
        return [dict(
            line=rng.randrange(5), person=f"{self.name(1, 2)} {self.name(2, 3)}",
            company=f"{self.name(2, 3)} {rng.choice(('GmbH', 'Ltd', 'SA', 'AG', 'Group'))}", city=rng.choice(self.cities),
            date=(rng.randint(2019, 2027), rng.randint(1, 12), rng.randint(1, 28)), cents=rng.randint(20_000, 900_000_00),
            count=rng.randint(3, 420), number=f"{rng.choice('ABCDEFGHKLMNPRST')}{rng.randint(1000, 99999)}/{rng.randint(10, 99)}",
        ) for _ in range(count or rng.randint(3, 7))]

    def event(self):
        """Records of one public event; all name it."""
        name = f"{self.name(2, 3)} {self.rng.choice(('Society', 'Festival', 'Academy', 'Guild'))}"
        city = self.rng.choice(self.cities)
        return [dict(record, line=i % 4, name=name, city=city) for i, record in enumerate(self.records(5))]

    def public(self, lang, records):
        """A question about an event, and an answer that tells some of it."""
        rng = self.rng
        some = rng.sample(records, rng.randint(2, 4))
        said = [rng.choice(ASKS[lang]["intro"]), self.body(lang, some, PUBLIC)]
        if rng.random() < 0.5:
            said.append(rng.choice(ASKS[lang]["outro"]))
        # The question may name a person or a place only.
        prompt = rng.choice(PUBLIC_ASKS[lang]).format(**rng.choice(some))
        return prompt, "\n".join(part for part in said if part)

    def body(self, lang, records, patterns=LINES):
        gap = "" if lang in ("zh", "ja") else " "
        return gap.join(self.line(patterns[lang], lang, record) for record in records)

    def line(self, patterns, lang, record):
        year, month, day = record["date"]
        if lang in ("zh", "ja"):
            date = f"{year}年{month}月{day}日"
        elif lang == "de":
            date = f"{day}. {MONTHS[lang][month - 1]} {year}"
        elif lang == "es":
            date = f"{day} de {MONTHS[lang][month - 1]} de {year}"
        else:
            date = f"{day} {MONTHS[lang][month - 1]} {year}"
        whole, cents = divmod(record["cents"], 100)
        group, point = {"en": (",", "."), "zh": (",", "."), "ja": (",", "."), "fr": ("\u202f", ","), "ru": ("\u00a0", ",")}.get(lang, (".", ","))
        amount = f"{whole:,}".replace(",", group) + f"{point}{cents:02d}"
        return patterns[record["line"]].format(**dict(record, date=date, amount=amount))

    def prompt(self, lang, records):
        return f"{self.rng.choice(LETTER_ASKS[lang])}\n\n{self.body(lang, records)}"

    def answer(self, lang, records):
        """Speaks of some of the records, in its own order, between the usual phrases."""
        some = self.rng.sample(records, self.rng.randint(1, min(3, len(records))))
        said = [self.rng.choice(ASKS[lang]["intro"]), self.body(lang, some)]
        if self.rng.random() < 0.6:
            said.append(self.rng.choice(ASKS[lang]["outro"]))
        return "\n".join(part for part in said if part)

    def house_rules(self):
        rng = self.rng
        name = self.name(2, 2)
        rules = [f"{rng.choice(RULES)} when it is about {rng.choice(AREAS)}." for _ in range(10)]
        return f"You are the assistant of {name}. " + " ".join(rules)
