"""Lines of raw text, made up for the tests, in many scripts."""

from __future__ import annotations

RAW_LINES = {
    "yo": "Ó lọ sí ọjà pẹ̀lú ọ̀rẹ́ rẹ̀, wọ́n sì ra iṣu.",
    "om": "Inni \"Ga'aa\" jedhee deebise; bu'aan isaa hin mul'anne.",
    "sw": "Ng'ombe wa jirani wanakula nyasi asubuhi (saa 3:30).",
    "fr": "L’homme qu’elle a vu s'appelle « Rémi » ; il a dit : « Aujourd'hui\u00a0! »",
    "en": 'Don\'t panic: see https://example.org/a?b=c_d, "and/or" write to me@example.org at 3:30pm for $1,000.50…',
    "de": "Das T-Shirt kostet 3,50 € – »zum« Beispiel.",
    "tr": "İstanbul'da yağmur yağıyor, değil mi?",
    "vi": "Hôm nay trời đẹp, chúng tôi đi dạo.",
    "ru": "Мы идём домой, а она — нет.",
    "el": "Η γάτα κοιμάται· πού είναι ο σκύλος;",
    "ar": "ذهبَ الولدُ إلى المدرسةِ، ثم عاد؟",
    "he": 'הוא אמר: "שלום", צה"ל וג\'ירף.',
    "hi": "बिल्ली सो रही है। क्या तुम आओगे?",
    "bn": "বিড়ালটি ঘুমাচ্ছে।",
    "ta": "பூனை தூங்குகிறது, நாய் ஓடுகிறது.",
    "am": "ድመቷ ተኝታለች፣ ውሻው ግን አልተኛም።",
    "ka": "კატა სძინავს.",
    "hy": "Կատուն քնած է։",
    "ko": '고양이가 "안녕"이라고 말했다.',
    "zh": "猫在睡觉，狗在跑步。（真的！）",
    "ja": "猫は寝ています。カタカナとABCも、𠮷野家で。",
    "th": "แมวกำลังนอนหลับ และสุนัขวิ่ง 10 ก.ม.",
    "lo": "ແມວກຳລັງນອນ.",
    "km": "ឆ្មា​កំពុង​ដេក។",
    "my": "ကြောင် အိပ်နေသည်။",
    "emoji": "Family 👨‍👩‍👧, flags 🇩🇪🇫🇷 and a thumb 👍🏽!",
}
"""By language, most with what has gone wrong before: marks, apostrophes, brackets, quotation marks, no spaces."""
